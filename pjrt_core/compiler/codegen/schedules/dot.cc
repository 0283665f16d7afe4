// Dots on a CPU: a work-item has a column of a block of rows, or a few, a work-group some columns
// of one block. What the library does better, large products, never comes here.
#include <memory>
#include <utility>
#include <vector>

#include "pjrt_core/compiler/analysis/dot_queries.h"
#include "pjrt_core/compiler/codegen/elemental/dot_block.h"
#include "pjrt_core/compiler/codegen/kernel/work_group.h"
#include "pjrt_core/compiler/codegen/schedules/schedules.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"
#include "xla/util.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;
using xla::HloInstruction;

std::vector<const HloInstruction*> RootsOf(const HloInstruction& root) {
  if (root.opcode() != xla::HloOpcode::kTuple) return {&root};
  return {root.operands().begin(), root.operands().end()};
}

bool HaveOneShape(const std::vector<Array>& results) {
  for (const Array& result : results) {
    if (!xla::ShapeUtil::EqualIgnoringElementType(result.shape, results[0].shape)) return false;
  }
  return !results.empty() && results[0].shape.IsArray() &&
         !xla::ShapeUtil::IsZeroElementArray(results[0].shape);
}

class DotKernel {
 public:
  DotKernel(FusionContext& kernel, std::vector<const HloInstruction*> roots,
            std::vector<const HloInstruction*> dots)
      : kernel_(kernel),
        math_(kernel.index_math()),
        roots_(std::move(roots)),
        dots_(std::move(dots)),
        dimensions_(kernel.results()[0].shape.dimensions().begin(),
                    kernel.results()[0].shape.dimensions().end()) {}

  absl::StatusOr<LaunchDimensions> Emit() {
    const int64_t columns = dimensions_.back();
    const int64_t elements = xla::Product(dimensions_);
    const int64_t blocks = xla::CeilOfRatio(rows(), kDotRows);
    const int64_t batches = elements / columns / rows();
    const int64_t together = ColumnsTogether(batches * blocks);
    const LaunchDimensions launch = ChooseBlockLaunch(
        batches * blocks, columns / together, (together > 1 ? 1 : 4) * kVector, kernel_.target());
    Value* number = math_.ToIndexType(kernel_.GlobalId(1));
    Value* batch = math_.Div(number, blocks);
    Value* block = math_.Rem(number, blocks);
    Columns at;
    if (together == 1) {
      at.push_back(math_.ToIndexType(kernel_.GlobalId(0)));
    } else {
      Value* group = math_.ToIndexType(GroupId(kernel_));
      Value* lane = math_.ToIndexType(LocalId(kernel_));
      const int64_t width = launch.local.back();
      for (int64_t i = 0; i < together; ++i) {
        at.push_back(math_.Add(math_.Add(math_.Mul(group, width * together), i * width), lane));
      }
    }
    const auto emit = [&]() -> absl::Status {
      const int64_t full = rows() / kDotRows;
      const int64_t rest = rows() % kDotRows;
      if (full == 0) return EmitBlock(batch, math_.Constant(0), rest, at);
      const auto emit_full = [&] {
        return EmitBlock(batch, math_.Mul(block, kDotRows), kDotRows, at);
      };
      if (rest == 0) return emit_full();
      return kernel_.IfElse(kernel_.b().CreateICmpSLT(block, math_.Constant(full)), emit_full, [&] {
        return EmitBlock(batch, math_.Constant(full * kDotRows), rest, at);
      });
    };
    if (launch.global.back() * together == static_cast<uint64_t>(columns)) {
      TF_RETURN_IF_ERROR(emit());
    } else {
      TF_RETURN_IF_ERROR(
          kernel_.If(kernel_.b().CreateICmpSLT(at[0], math_.Constant(columns)), emit));
    }
    return launch;
  }

 private:
  using Columns = std::vector<Value*>;

  // Work-items of a group that has several columns in each.
  static constexpr int64_t kVector = 16;

  // Columns of a work-item. Few rows leave registers for several, and then what a turn of the loop
  // reads is longer than a cache line: lines of many rows, each on a page of its own, come slowly.
  int64_t ColumnsTogether(int64_t blocks) const {
    const int64_t wanted_groups = 2 * int64_t{kernel_.target().compute_units};
    int64_t together = rows() <= 1 ? 8 : rows() <= 4 ? 4 : 1;
    while (together > 1 && (dimensions_.back() % (kVector * together) != 0 ||
                            blocks * dimensions_.back() / (kVector * together) < wanted_groups)) {
      together /= 2;
    }
    return together;
  }

  // Those of one matrix: the rows of a block never belong to two.
  int64_t rows() const { return dimensions_.size() < 2 ? 1 : dimensions_[dimensions_.size() - 2]; }

  absl::Status EmitBlock(Value* batch, Value* first_row, int64_t count, const Columns& columns) {
    std::vector<Index> cells;
    for (int64_t row = 0; row < count; ++row) {
      std::vector<Value*> index;
      if (dimensions_.size() > 2) {
        const auto outer = absl::MakeConstSpan(dimensions_).first(dimensions_.size() - 2);
        index = math_.DelinearizeRowMajor(batch, outer).values();
      }
      if (dimensions_.size() > 1) index.push_back(math_.Add(first_row, row));
      for (Value* column : columns) {
        index.push_back(column);
        cells.emplace_back(index);
        index.pop_back();
      }
    }
    return EmitDotBlock(kernel_, dots_, cells, [&](const Index& index) -> absl::Status {
      // Everything is read before anything is written: a result may be an operand's memory.
      std::vector<Value*> values;
      for (const HloInstruction* root : roots_) {
        TF_ASSIGN_OR_RETURN(Value * value, kernel_.Element(*root, index));
        values.push_back(value);
      }
      for (size_t i = 0; i < values.size(); ++i) {
        TF_RETURN_IF_ERROR(kernel_.Store(i, index, values[i]));
      }
      return absl::OkStatus();
    });
  }

  FusionContext& kernel_;
  IndexMath& math_;
  const std::vector<const HloInstruction*> roots_;
  const std::vector<const HloInstruction*> dots_;
  const std::vector<int64_t> dimensions_;
};

}  // namespace

absl::StatusOr<bool> EmitDots(KernelSequence& sequence) {
  if (!sequence.target().schedules->has_block_dots || !ContainsDot(sequence.instruction())) {
    return false;
  }
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FusionContext> kernel, sequence.Begin());
  std::vector<const HloInstruction*> roots = RootsOf(kernel->root());
  std::vector<const HloInstruction*> dots;
  if (HaveOneShape(kernel->results())) dots = FindBlockedDots(*kernel, roots);
  if (dots.empty()) {
    sequence.Discard(std::move(kernel));
    return false;
  }
  TF_ASSIGN_OR_RETURN(LaunchDimensions launch,
                      DotKernel(*kernel, std::move(roots), std::move(dots)).Emit());
  TF_RETURN_IF_ERROR(sequence.End(std::move(kernel), std::move(launch)));
  return true;
}

}  // namespace onexpu::compiler
