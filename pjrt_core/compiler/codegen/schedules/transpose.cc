// What is read along one dimension and written along another, in tiles: a tile's lines of memory
// are each fetched once, whichever way they are walked. The tile passes through local memory: on a
// GPU so that neighbouring work-items read and write neighbours, on a CPU, where a work-item walks
// it alone, so that it stays in the cache.
#include <algorithm>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "llvm/IR/DerivedTypes.h"
#include "pjrt_core/compiler/codegen/elemental_emitter.h"
#include "pjrt_core/compiler/codegen/hlo_queries.h"
#include "pjrt_core/compiler/codegen/schedules/schedules.h"
#include "pjrt_core/compiler/codegen/types.h"
#include "pjrt_core/compiler/codegen/work_group.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout_util.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"
#include "xla/util.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;
using xla::HloInstruction;
using xla::HloOpcode;

constexpr int64_t kTile = 32;
// Below this a line of memory is used up before it is left, or nearly.
constexpr int64_t kShortest = 8;

// The fastest dimension that has more than one element; -1 when there is none.
int64_t MinorDimension(const xla::Shape& shape) {
  for (int64_t dimension : shape.layout().minor_to_major()) {
    if (shape.dimensions(dimension) > 1) return dimension;
  }
  return -1;
}

// The dimension of the result along which `instruction`, a kTranspose, a kCopy or one of them seen
// with its dimensions in another order, reads memory; -1 for anything else.
int64_t ReadDimension(const HloInstruction& instruction) {
  if (instruction.opcode() == HloOpcode::kBitcast) {
    const HloInstruction& operand = *instruction.operand(0);
    const int64_t read = ReadDimension(operand);
    if (read < 0) return -1;
    const std::optional<std::vector<int64_t>> permutation =
        xla::ShapeUtil::DeduceTransposeDimensionsForBitcast(operand.shape(), instruction.shape());
    if (!permutation) return -1;
    return absl::c_find(*permutation, read) - permutation->begin();
  }
  const bool is_transpose = instruction.opcode() == HloOpcode::kTranspose;
  if (!is_transpose && instruction.opcode() != HloOpcode::kCopy) return -1;
  const xla::Shape& operand = instruction.operand(0)->shape();
  if (!operand.IsArray() || !operand.has_layout()) return -1;
  const int64_t minor = MinorDimension(operand);
  if (minor < 0 || !is_transpose) return minor;
  const absl::Span<const int64_t> permutation = instruction.dimensions();
  return absl::c_find(permutation, minor) - permutation.begin();
}

// A tile in local memory holds one element more in a row than the tile is wide, so that a column's
// elements lie in different banks.
constexpr int64_t kStride = kTile + 1;

struct Transposition {
  int64_t local_bytes_left = 0;  // for tiles
  int64_t read = -1;     // dimensions of the result: along this its transposed operands are read,
  int64_t written = -1;  // and along this it is written
  std::vector<const HloInstruction*>
      transposed;  // what is read so, at the index of the result itself
};

void Collect(const HloInstruction& instruction, const xla::Shape& shape, Transposition& found,
             absl::flat_hash_set<const HloInstruction*>& visited) {
  if (!visited.insert(&instruction).second) return;
  if (!xla::ShapeUtil::SameDimensions(instruction.shape(), shape)) return;
  const int64_t read = ReadDimension(instruction);
  if (read >= 0 && read != found.written && (found.read < 0 || found.read == read)) {
    const int64_t bytes = kTile * kStride * StorageBytes(instruction.shape().element_type());
    if (bytes > found.local_bytes_left) return;  // it is read across
    found.local_bytes_left -= bytes;
    found.read = read;
    found.transposed.push_back(&instruction);
    return;
  }
  if (!instruction.IsElementwise()) return;
  for (const HloInstruction* operand : instruction.operands())
    Collect(*operand, shape, found, visited);
}

std::optional<Transposition> Find(const HloInstruction& root, const Target& target) {
  const xla::Shape& shape = root.shape();
  if (!shape.IsArray()) return std::nullopt;
  Transposition found;
  found.local_bytes_left = static_cast<int64_t>(target.local_memory_bytes);
  found.written = MinorDimension(shape);
  if (found.written < 0) return std::nullopt;
  absl::flat_hash_set<const HloInstruction*> visited;
  Collect(root, shape, found, visited);
  const bool worth = found.read >= 0 && shape.dimensions(found.read) >= kShortest &&
                     shape.dimensions(found.written) >= kShortest;
  return worth ? std::optional(std::move(found)) : std::nullopt;
}

bool MovesElements(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kBitcast:
    case HloOpcode::kBitcastConvert:
    case HloOpcode::kBroadcast:
    case HloOpcode::kCopy:
    case HloOpcode::kDynamicSlice:
    case HloOpcode::kReshape:
    case HloOpcode::kSlice:
    case HloOpcode::kTranspose:
      return true;
    default:
      return false;
  }
}

// Whether nothing is computed between memory and `instruction`.
bool IsOfMemory(const FusionContext& kernel, const HloInstruction& instruction) {
  const HloInstruction* value = &instruction;
  while (kernel.FindArray(*value) == nullptr) {
    if (!MovesElements(value->opcode())) return false;
    value = value->operand(0);
  }
  return true;
}

// Whether the result lies where an operand does, or a part of one.
bool IsInPlace(const KernelArguments& arguments) {
  const KernelArguments::Leaf& result = arguments.results()[0];
  if (!arguments.arguments()[result.argument].overlaps_none) return true;
  return absl::c_any_of(arguments.operands(), [&](const auto& leaves) {
    return absl::c_any_of(leaves, [&](const auto& leaf) { return arguments.Same(leaf, result); });
  });
}

// The result cut into tiles of its two dimensions, one number each. `may_overlap`: where an extent
// is more than a tile's and no multiple of it, the last one begins earlier, so that it is whole
// too; what two of them handle must not depend on who comes first.
class Tiles {
 public:
  Tiles(const xla::Shape& shape, const Transposition& transposition, bool may_overlap)
      : shape_(shape),
        may_overlap_(may_overlap),
        read_(transposition.read),
        written_(transposition.written),
        outer_(shape.dimensions().begin(), shape.dimensions().end()) {
    outer_[read_] = outer_[written_] = 1;
  }

  int64_t along_read() const { return xla::CeilOfRatio(shape_.dimensions(read_), kTile); }
  int64_t along_written() const { return xla::CeilOfRatio(shape_.dimensions(written_), kTile); }
  int64_t count() const { return xla::Product(outer_) * along_read() * along_written(); }
  int64_t extent_read() const { return shape_.dimensions(read_); }
  int64_t extent_written() const { return shape_.dimensions(written_); }
  // The extent of every tile along a dimension of `extent` elements; -1 when the last differs.
  int64_t ExtentOfAll(int64_t extent) const {
    if (extent <= kTile) return extent;
    return extent % kTile == 0 || may_overlap_ ? kTile : -1;
  }

  // The first element of a tile.
  void Locate(IndexMath& math, Value* number) {
    first_written_ = First(math, math.Rem(number, along_written()), extent_written());
    Value* rest = math.Div(number, along_written());
    first_read_ = First(math, math.Rem(rest, along_read()), extent_read());
    outer_index_ = math.DelinearizeRowMajor(math.Div(rest, along_read()), outer_).values();
  }
  Value* first_read() const { return first_read_; }
  Value* first_written() const { return first_written_; }

  Index At(Value* read, Value* written) const {
    std::vector<Value*> values = outer_index_;
    values[read_] = read;
    values[written_] = written;
    return Index(std::move(values));
  }

 private:
  Value* First(IndexMath& math, Value* tile, int64_t extent) {
    Value* first = math.Mul(tile, kTile);
    const bool is_moved = extent % kTile != 0 && ExtentOfAll(extent) == kTile;
    return is_moved ? math.Minimum(first, extent - kTile) : first;
  }

  const xla::Shape& shape_;
  bool may_overlap_;
  int64_t read_;
  int64_t written_;
  std::vector<int64_t> outer_;
  Value* first_read_ = nullptr;
  Value* first_written_ = nullptr;
  std::vector<Value*> outer_index_;
};

// Where the elements of a transposed operand lie one after the other.
struct Lines {
  const Array* array;
  const xla::Shape* shape;          // in which the array is seen
  std::vector<int64_t> operand_of;  // its dimension for each of the result
};

// Nothing when more than one change of the order of dimensions lies between memory and
// `transposed`.
std::optional<Lines> FindLines(const FusionContext& kernel, const HloInstruction& transposed) {
  Lines lines;
  lines.operand_of.resize(transposed.shape().dimensions().size());
  absl::c_iota(lines.operand_of, 0);
  const HloInstruction* value = &transposed;
  if (value->opcode() == HloOpcode::kBitcast) {
    lines.operand_of = *xla::ShapeUtil::DeduceTransposeDimensionsForBitcast(
        value->operand(0)->shape(), value->shape());
    value = value->operand(0);
  }
  if (value->opcode() == HloOpcode::kTranspose) {
    for (int64_t& dimension : lines.operand_of) dimension = value->dimensions(dimension);
  } else if (value->opcode() != HloOpcode::kCopy) {
    return std::nullopt;
  }
  value = value->operand(0);
  lines.shape = &value->shape();
  while (value->opcode() == HloOpcode::kBitcast) value = value->operand(0);
  lines.array = kernel.FindArray(*value);
  return lines.array == nullptr ? std::nullopt : std::optional(std::move(lines));
}

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

// A tile in local memory of what is read across.
class Staging {
 public:
  Staging(FusionContext& kernel, const Transposition& transposition)
      : kernel_(kernel), transposition_(transposition) {
    for (const HloInstruction* instruction : transposition.transposed) {
      arrays_.push_back(LocalArray(kernel, instruction->shape().element_type(), kTile * kStride));
    }
    lines_.resize(arrays_.size());
  }

  // From here on MoveLines moves whole lines as vectors, where they lie in memory as they are, and
  // Fill leaves those operands out.
  void SetWholeLines() {
    for (size_t i = 0; i < arrays_.size(); ++i) {
      lines_[i] = FindLines(kernel_, *transposition_.transposed[i]);
    }
  }
  bool has_others() const {
    return absl::c_any_of(lines_, [](const auto& lines) { return !lines.has_value(); });
  }

  // How many of the `count` elements of a line (-1: it differs) a turn of the loop around Fill
  // takes. One when all are computed. Where a loop moves elements one by one, the driver's compiler
  // sees a call of memcpy, one for each of the work-items that it handles together, which it takes
  // 0.8 s to write out; not when their number is unknown.
  int64_t FilledTogether(int64_t count) const {
    constexpr int64_t kTogether = 16;
    bool moves = false;
    for (size_t i = 0; i < arrays_.size(); ++i) {
      moves =
          moves || (!lines_[i].has_value() && IsOfMemory(kernel_, *transposition_.transposed[i]));
    }
    if (!moves || count < 0) return 1;
    return count % kTogether == 0 ? kTogether : count;
  }

  // `first`: the line's first element in the result.
  void MoveLines(const Index& first, Value* in_written) {
    constexpr int64_t kBytes = 32;
    llvm::IRBuilder<>& b = kernel_.b();
    llvm::Type* vector = llvm::FixedVectorType::get(b.getInt32Ty(), kBytes / 4);
    for (size_t i = 0; i < arrays_.size(); ++i) {
      if (!lines_[i].has_value()) continue;
      const xla::PrimitiveType type = arrays_[i].shape.element_type();
      const llvm::Align alignment(StorageAlignment(type));
      std::vector<Value*> operand(first.size());
      for (int64_t d = 0; d < first.size(); ++d) operand[lines_[i]->operand_of[d]] = first[d];
      Value* from = kernel_.ElementPointer(
          *lines_[i]->array,
          kernel_.index_math().Linearize(Index(std::move(operand)), *lines_[i]->shape));
      Value* to = kernel_.ElementPointer(
          arrays_[i], kernel_.index_math().Widen(kernel_.index_math().Mul(in_written, kStride)));
      for (int64_t at = 0; at < kTile * StorageBytes(type); at += kBytes) {
        const auto part = [&](Value* line) {
          return b.CreateInBoundsGEP(b.getInt8Ty(), line, b.getInt64(at));
        };
        b.CreateAlignedStore(b.CreateAlignedLoad(vector, part(from), alignment), part(to),
                             alignment);
      }
    }
  }

  absl::Status Fill(const Index& at, Value* in_read, Value* in_written) {
    for (size_t i = 0; i < arrays_.size(); ++i) {
      if (lines_[i].has_value()) continue;
      TF_ASSIGN_OR_RETURN(Value * value, kernel_.Element(*transposition_.transposed[i], at));
      TF_RETURN_IF_ERROR(kernel_.Store(arrays_[i], Place(in_read, in_written), value));
    }
    return absl::OkStatus();
  }

  absl::Status StoreRoot(const Index& at, Value* in_read, Value* in_written) {
    for (size_t i = 0; i < arrays_.size(); ++i) {
      TF_ASSIGN_OR_RETURN(Value * value, kernel_.Load(arrays_[i], Place(in_read, in_written)));
      kernel_.BindValues(*transposition_.transposed[i], {value});
    }
    TF_ASSIGN_OR_RETURN(Value * value, kernel_.Element(kernel_.root(), at));
    return kernel_.Store(0, at, value);
  }

 private:
  Index Place(Value* in_read, Value* in_written) {
    IndexMath& math = kernel_.index_math();
    return Index({math.Add(math.Mul(in_written, kStride), in_read)});
  }

  FusionContext& kernel_;
  const Transposition& transposition_;
  std::vector<Array> arrays_;
  std::vector<std::optional<Lines>> lines_;
};

// Moves whole tiles of a result that is nothing but turned memory, square by square in registers: a
// line of the cache is used up by a square or two.
absl::Status MoveSquares(FusionContext& kernel, const Lines& lines, const Tiles& tiles) {
  IndexMath& math = kernel.index_math();
  llvm::IRBuilder<>& b = kernel.b();
  const Array& result = kernel.results()[0];
  const xla::PrimitiveType type = result.shape.element_type();
  const int64_t square = SquareOf(type);
  const llvm::Align alignment(StorageAlignment(type));
  llvm::Type* vector = llvm::FixedVectorType::get(b.getIntNTy(8 * StorageBytes(type)), square);
  Value* zero = math.Constant(0);
  Value* end = math.Constant(kTile);
  Value* step = math.Constant(square);
  return kernel.For(zero, end, step, [&](Value* in_read) {
    return kernel.For(zero, end, step, [&](Value* in_written) {
      Value* read = math.Add(tiles.first_read(), in_read);
      Value* written = math.Add(tiles.first_written(), in_written);
      std::vector<Value*> values(square);
      for (int64_t i = 0; i < square; ++i) {
        const Index at = tiles.At(read, math.Add(written, i));
        std::vector<Value*> operand(at.size());
        for (int64_t d = 0; d < at.size(); ++d) operand[lines.operand_of[d]] = at[d];
        values[i] = b.CreateAlignedLoad(
            vector,
            kernel.ElementPointer(*lines.array,
                                  math.Linearize(Index(std::move(operand)), *lines.shape)),
            alignment);
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

// Not straight from memory to memory: lines that lie a power of two apart push each other out of
// the cache before they are used up.
absl::StatusOr<LaunchDimensions> EmitForCpu(FusionContext& kernel,
                                            const Transposition& transposition, Tiles& tiles) {
  IndexMath& math = kernel.index_math();
  tiles.Locate(math, math.ToIndexType(kernel.GlobalId()));
  const LaunchDimensions launch{{static_cast<uint64_t>(tiles.count())}, {1}};
  const int64_t line = tiles.ExtentOfAll(tiles.extent_read());
  const bool is_whole = line == kTile && tiles.ExtentOfAll(tiles.extent_written()) == kTile;
  const bool is_all = transposition.transposed[0] == &kernel.root();
  if (is_whole && is_all && !kernel.target().gpu_schedules &&
      SquareOf(kernel.root().shape().element_type()) > 0) {
    if (const std::optional<Lines> lines = FindLines(kernel, kernel.root()); lines.has_value()) {
      TF_RETURN_IF_ERROR(MoveSquares(kernel, *lines, tiles));
      return launch;
    }
  }
  Staging staging(kernel, transposition);
  const auto extent_of = [&](Value* first, int64_t extent) -> Value* {
    const int64_t of_all = tiles.ExtentOfAll(extent);
    if (of_all >= 0) return math.Constant(of_all);
    return math.Minimum(math.Sub(math.Constant(extent), first), kTile);
  };
  Value* reads = extent_of(tiles.first_read(), tiles.extent_read());
  Value* writes = extent_of(tiles.first_written(), tiles.extent_written());
  const auto at = [&](Value* in_read, Value* in_written) {
    return tiles.At(math.Add(tiles.first_read(), in_read),
                    math.Add(tiles.first_written(), in_written));
  };
  Value* zero = math.Constant(0);
  Value* one = math.Constant(1);
  if (line == kTile) staging.SetWholeLines();
  const int64_t together = staging.FilledTogether(line);
  TF_RETURN_IF_ERROR(kernel.For(zero, writes, one, [&](Value* in_written) {
    staging.MoveLines(at(zero, in_written), in_written);
    if (!staging.has_others()) return absl::OkStatus();
    return kernel.For(zero, reads, math.Constant(together), [&](Value* first) {
      for (int64_t i = 0; i < together; ++i) {
        Value* in_read = math.Add(first, i);
        TF_RETURN_IF_ERROR(staging.Fill(at(in_read, in_written), in_read, in_written));
      }
      return absl::OkStatus();
    });
  }));
  TF_RETURN_IF_ERROR(kernel.For(zero, reads, one, [&](Value* in_read) {
    return kernel.For(zero, writes, one, [&](Value* in_written) {
      return staging.StoreRoot(at(in_read, in_written), in_read, in_written);
    });
  }));
  return launch;
}

absl::StatusOr<LaunchDimensions> EmitForGpu(FusionContext& kernel,
                                            const Transposition& transposition, Tiles& tiles) {
  constexpr int64_t kLines = 8;  // of a tile that a group's work-items handle at once
  IndexMath& math = kernel.index_math();
  llvm::IRBuilder<>& b = kernel.b();
  tiles.Locate(math, math.ToIndexType(GroupId(kernel)));
  Value* item = math.ToIndexType(LocalId(kernel));
  Value* across = math.Rem(item, kTile);
  Value* line = math.Div(item, kTile);
  Staging staging(kernel, transposition);
  // Visits the elements of the tile that this work-item handles: along the written dimension or
  // along the read one, whichever neighbouring work-items are to share.
  const auto visit =
      [&](bool along_written,
          absl::FunctionRef<absl::Status(const Index& at, Value* in_read, Value* in_written)>
              body) {
        for (int64_t first = 0; first < kTile; first += kLines) {
          Value* row = math.Add(line, first);
          Value* in_read = along_written ? row : across;
          Value* in_written = along_written ? across : row;
          Value* read = math.Add(tiles.first_read(), in_read);
          Value* written = math.Add(tiles.first_written(), in_written);
          Value* inside =
              b.CreateAnd(b.CreateICmpSLT(read, math.Constant(tiles.extent_read())),
                          b.CreateICmpSLT(written, math.Constant(tiles.extent_written())));
          TF_RETURN_IF_ERROR(kernel.If(
              inside, [&] { return body(tiles.At(read, written), in_read, in_written); }));
        }
        return absl::OkStatus();
      };
  const auto fill = [&](const Index& at, Value* in_read, Value* in_written) {
    return staging.Fill(at, in_read, in_written);
  };
  const auto store = [&](const Index& at, Value* in_read, Value* in_written) {
    return staging.StoreRoot(at, in_read, in_written);
  };
  TF_RETURN_IF_ERROR(visit(/*along_written=*/false, fill));
  Barrier(kernel);
  TF_RETURN_IF_ERROR(visit(/*along_written=*/true, store));
  const uint64_t local = kTile * kLines;
  return LaunchDimensions{{tiles.count() * local}, {local}};
}

}  // namespace

absl::Status EmitTranspositionOrLoop(KernelSequence& sequence) {
  constexpr uint32_t kGroup = 256;
  const xla::Shape& shape = RootOf(sequence.instruction()).shape();
  const std::optional<Transposition> transposition =
      Find(RootOf(sequence.instruction()), sequence.target());
  if (!transposition) return EmitLoop(sequence);
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FusionContext> kernel, sequence.Begin());
  const Target& target = sequence.target();
  const bool in_groups = target.gpu_schedules && target.max_work_group_size >= kGroup;
  Tiles tiles(shape, *transposition,
              /*may_overlap=*/!in_groups && !IsInPlace(sequence.arguments()));
  TF_ASSIGN_OR_RETURN(LaunchDimensions launch, in_groups
                                                   ? EmitForGpu(*kernel, *transposition, tiles)
                                                   : EmitForCpu(*kernel, *transposition, tiles));
  return sequence.End(std::move(kernel), std::move(launch));
}

}  // namespace onexpu::compiler
