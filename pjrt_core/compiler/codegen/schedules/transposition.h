// What a fusion reads along another dimension than it is written along, and the tiles of its
// result.
#ifndef PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_TRANSPOSITION_H_
#define PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_TRANSPOSITION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "llvm/IR/Value.h"
#include "pjrt_core/compiler/codegen/elemental/fusion_context.h"
#include "pjrt_core/compiler/codegen/elemental/ir_index.h"
#include "pjrt_core/compiler/target/target.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"

namespace onexpu::compiler {

// Elements along either side of a tile.
inline constexpr int64_t kTransposeTile = 32;
// A tile in local memory holds one element more in a row than the tile is wide, so that a column's
// elements lie in different banks.
inline constexpr int64_t kTransposeStride = kTransposeTile + 1;

struct Transposition {
  int64_t local_bytes_left = 0;  // for tiles
  int64_t read = -1;     // dimensions of the result: along this its transposed operands are read,
  int64_t written = -1;  // and along this it is written
  std::vector<const xla::HloInstruction*>
      transposed;  // what is read so, at the index of the result itself
};

// Nothing if no operand is read across the result, or too little of it for tiles to pay off.
std::optional<Transposition> FindTransposition(const xla::HloInstruction& root,
                                               const Target& target);

// Divides the result into numbered tiles of its two dimensions. `may_overlap`: if an extent is
// larger than a tile's and not a multiple of it, the last tile begins earlier, so that it is also
// full. The result for elements in two tiles must not depend on the order of the tiles.
class Tiles {
 public:
  Tiles(const xla::Shape& shape, const Transposition& transposition, bool may_overlap);

  int64_t count() const;
  int64_t extent_read() const { return shape_.dimensions(read_); }
  int64_t extent_written() const { return shape_.dimensions(written_); }
  // The extent of every tile along a dimension of `extent` elements; -1 when the last differs.
  int64_t ExtentOfAll(int64_t extent) const {
    if (extent <= kTransposeTile) return extent;
    return extent % kTransposeTile == 0 || may_overlap_ ? kTransposeTile : -1;
  }

  // The first element of a tile.
  void Locate(IndexMath& math, llvm::Value* number);
  llvm::Value* first_read() const { return first_read_; }
  llvm::Value* first_written() const { return first_written_; }

  Index At(llvm::Value* read, llvm::Value* written) const;

 private:
  int64_t along_read() const;
  int64_t along_written() const;
  llvm::Value* First(IndexMath& math, llvm::Value* tile, int64_t extent) const;

  const xla::Shape& shape_;
  bool may_overlap_;
  int64_t read_;
  int64_t written_;
  std::vector<int64_t> outer_;
  llvm::Value* first_read_ = nullptr;
  llvm::Value* first_written_ = nullptr;
  std::vector<llvm::Value*> outer_index_;
};

// Where the elements of a transposed operand lie one after the other.
struct Lines {
  const Array* array;
  const xla::Shape* shape;          // in which the array is seen
  std::vector<int64_t> operand_of;  // its dimension for each of the result

  // Of the element at `at` of the result.
  llvm::Value* Pointer(FusionContext& kernel, const Index& at) const;
};

// Nothing when more than one change of the order of dimensions lies between memory and
// `transposed`.
std::optional<Lines> FindLines(const FusionContext& kernel, const xla::HloInstruction& transposed);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_TRANSPOSITION_H_
