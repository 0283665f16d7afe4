#include "pjrt_core/compiler/codegen/schedules/transpose_squares.h"

#include <cstdint>
#include <vector>

#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/IRBuilder.h"
#include "pjrt_core/compiler/codegen/elemental/types.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;

// The lines of a square of elements, turned into its columns: pairs of lines exchange halves of
// blocks of two by two, then of four by four, ...
void TransposeInRegisters(llvm::IRBuilder<>& b, std::vector<Value*>& lines) {
  const int count = static_cast<int>(lines.size());
  for (int half = 1; half < count; half *= 2) {
    std::vector<int> first(count), second(count);
    for (int lane = 0; lane < count; ++lane) {
      const bool is_upper = (lane & half) != 0;
      first[lane] = is_upper ? count + lane - half : lane;
      second[lane] = is_upper ? count + lane : lane + half;
    }
    for (int i = 0; i < count; ++i) {
      if ((i & half) != 0) continue;
      Value* const line = lines[i];
      lines[i] = b.CreateShuffleVector(line, lines[i + half], first);
      lines[i + half] = b.CreateShuffleVector(line, lines[i + half], second);
    }
  }
}

// How many elements of `type` a side of a square has whose lines are moved as vectors; 0 for types
// that are not moved so.
int64_t SquareOf(xla::PrimitiveType type) {
  if (type == xla::PRED) return 0;  // what is stored is made 0 or 1
  switch (StorageBytes(type)) {
    case 2:
    case 4:
      return 16;
    case 8:
      return 8;
    default:
      return 0;
  }
}

}  // namespace

bool HasSquares(xla::PrimitiveType type) { return SquareOf(type) > 0; }

absl::Status MoveSquares(FusionContext& kernel, const Lines& lines, const Tiles& tiles) {
  IndexMath& math = kernel.index_math();
  llvm::IRBuilder<>& b = kernel.b();
  const Array& result = kernel.results()[0];
  const xla::PrimitiveType type = result.shape.element_type();
  const int64_t square = SquareOf(type);
  const llvm::Align alignment(StorageAlignment(type));
  llvm::Type* vector = llvm::FixedVectorType::get(b.getIntNTy(8 * StorageBytes(type)), square);
  Value* zero = math.Constant(0);
  Value* end = math.Constant(kTransposeTile);
  Value* step = math.Constant(square);
  return kernel.For(zero, end, step, [&](Value* in_read) {
    return kernel.For(zero, end, step, [&](Value* in_written) {
      Value* read = math.Add(tiles.first_read(), in_read);
      Value* written = math.Add(tiles.first_written(), in_written);
      std::vector<Value*> values(square);
      for (int64_t i = 0; i < square; ++i) {
        const Index at = tiles.At(read, math.Add(written, i));
        values[i] = b.CreateAlignedLoad(vector, lines.Pointer(kernel, at), alignment);
      }
      TransposeInRegisters(b, values);
      for (int64_t i = 0; i < square; ++i) {
        const Index at = tiles.At(math.Add(read, i), written);
        b.CreateAlignedStore(
            values[i], kernel.ElementPointer(result, math.Linearize(at, result.shape)), alignment);
      }
      return absl::OkStatus();
    });
  });
}

}  // namespace onexpu::compiler
