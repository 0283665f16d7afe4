// What is read along one dimension and written along another, in tiles: a tile's lines of memory
// are each fetched once, whichever way they are walked. The tile passes through local memory: on a
// GPU so that neighbouring work-items read and write neighbours, on a CPU, where a work-item walks
// it alone, so that it stays in the cache.
#include <algorithm>
#include <optional>

#include "absl/algorithm/container.h"
#include "llvm/IR/DerivedTypes.h"
#include "pjrt_core/compiler/analysis/hlo_queries.h"
#include "pjrt_core/compiler/codegen/elemental/elemental_emitter.h"
#include "pjrt_core/compiler/codegen/elemental/types.h"
#include "pjrt_core/compiler/codegen/kernel/work_group.h"
#include "pjrt_core/compiler/codegen/schedules/schedules.h"
#include "pjrt_core/compiler/codegen/schedules/transpose_squares.h"
#include "pjrt_core/compiler/codegen/schedules/transposition.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;
using xla::HloInstruction;
using xla::HloOpcode;

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

// A tile in local memory of what is read across.
class Staging {
 public:
  Staging(FusionContext& kernel, const Transposition& transposition)
      : kernel_(kernel), transposition_(transposition) {
    for (const HloInstruction* instruction : transposition.transposed) {
      arrays_.push_back(LocalArray(kernel, instruction->shape().element_type(),
                                   kTransposeTile * kTransposeStride));
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
    constexpr int64_t kUnroll = 16;
    bool moves = false;
    for (size_t i = 0; i < arrays_.size(); ++i) {
      moves =
          moves || (!lines_[i].has_value() && IsOfMemory(kernel_, *transposition_.transposed[i]));
    }
    if (!moves || count < 0) return 1;
    return count % kUnroll == 0 ? kUnroll : count;
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
      Value* from = lines_[i]->Pointer(kernel_, first);
      Value* to = kernel_.ElementPointer(
          arrays_[i],
          kernel_.index_math().Widen(kernel_.index_math().Mul(in_written, kTransposeStride)));
      for (int64_t at = 0; at < kTransposeTile * StorageBytes(type); at += kBytes) {
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
    return Index({math.Add(math.Mul(in_written, kTransposeStride), in_read)});
  }

  FusionContext& kernel_;
  const Transposition& transposition_;
  std::vector<Array> arrays_;
  std::vector<std::optional<Lines>> lines_;
};

// Not straight from memory to memory: lines that lie a power of two apart push each other out of
// the cache before they are used up.
absl::StatusOr<LaunchDimensions> EmitForCpu(FusionContext& kernel,
                                            const Transposition& transposition, Tiles& tiles) {
  IndexMath& math = kernel.index_math();
  tiles.Locate(math, math.ToIndexType(kernel.GlobalId()));
  const LaunchDimensions launch{{static_cast<uint64_t>(tiles.count())}, {1}};
  const int64_t line = tiles.ExtentOfAll(tiles.extent_read());
  const bool is_whole =
      line == kTransposeTile && tiles.ExtentOfAll(tiles.extent_written()) == kTransposeTile;
  const bool is_all = transposition.transposed[0] == &kernel.root();
  if (is_whole && is_all && kernel.target().schedules->has_square_transposes &&
      HasSquares(kernel.root().shape().element_type())) {
    if (const std::optional<Lines> lines = FindLines(kernel, kernel.root()); lines.has_value()) {
      TF_RETURN_IF_ERROR(MoveSquares(kernel, *lines, tiles));
      return launch;
    }
  }
  Staging staging(kernel, transposition);
  const auto extent_of = [&](Value* first, int64_t extent) -> Value* {
    const int64_t of_all = tiles.ExtentOfAll(extent);
    if (of_all >= 0) return math.Constant(of_all);
    return math.Minimum(math.Sub(math.Constant(extent), first), kTransposeTile);
  };
  Value* reads = extent_of(tiles.first_read(), tiles.extent_read());
  Value* writes = extent_of(tiles.first_written(), tiles.extent_written());
  const auto at = [&](Value* in_read, Value* in_written) {
    return tiles.At(math.Add(tiles.first_read(), in_read),
                    math.Add(tiles.first_written(), in_written));
  };
  Value* zero = math.Constant(0);
  Value* one = math.Constant(1);
  if (line == kTransposeTile) staging.SetWholeLines();
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
  Value* across = math.Rem(item, kTransposeTile);
  Value* line = math.Div(item, kTransposeTile);
  Staging staging(kernel, transposition);
  // Visits the elements of the tile that this work-item handles: along the written dimension or
  // along the read one, whichever neighbouring work-items are to share.
  const auto visit =
      [&](bool along_written,
          absl::FunctionRef<absl::Status(const Index& at, Value* in_read, Value* in_written)>
              body) {
        for (int64_t first = 0; first < kTransposeTile; first += kLines) {
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
  const uint64_t local = kTransposeTile * kLines;
  return LaunchDimensions{{tiles.count() * local}, {local}};
}

}  // namespace

absl::Status EmitTranspositionOrLoop(KernelSequence& sequence) {
  constexpr uint32_t kGroup = 256;
  const xla::Shape& shape = RootOf(sequence.instruction()).shape();
  const std::optional<Transposition> transposition =
      FindTransposition(RootOf(sequence.instruction()), sequence.target());
  if (!transposition) return EmitLoop(sequence);
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FusionContext> kernel, sequence.Begin());
  const Target& target = sequence.target();
  const bool in_groups =
      target.schedules->transposes_in_work_groups && target.max_work_group_size >= kGroup;
  Tiles tiles(shape, *transposition,
              /*may_overlap=*/!in_groups && !IsInPlace(sequence.arguments()));
  TF_ASSIGN_OR_RETURN(LaunchDimensions launch, in_groups
                                                   ? EmitForGpu(*kernel, *transposition, tiles)
                                                   : EmitForCpu(*kernel, *transposition, tiles));
  return sequence.End(std::move(kernel), std::move(launch));
}

}  // namespace onexpu::compiler
