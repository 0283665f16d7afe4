// kSort: rows that one work-group sorts in one launch, or long rows in a launch per merge.
#include <algorithm>

#include "pjrt_core/compiler/codegen/elemental/elemental_emitter.h"
#include "pjrt_core/compiler/codegen/elemental/types.h"
#include "pjrt_core/compiler/codegen/kernel/work_group.h"
#include "pjrt_core/compiler/codegen/schedules/schedules.h"
#include "pjrt_core/compiler/codegen/schedules/sort_kernel.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;
using xla::HloSortInstruction;

constexpr int64_t kRun = SortKernel::kRun;

// How work-items share the rows.
struct Plan {
  int64_t work_items = 1;  // per row
  int64_t piece = 0;       // results that one work-item merges at a time
  bool one_launch = true;
};

Plan MakePlan(const HloSortInstruction& sort, const Target& target) {
  const xla::Shape& shape = sort.operand(0)->shape();
  const int64_t length = shape.dimensions(sort.sort_dimension());
  const int64_t rows = xla::ShapeUtil::ElementsIn(shape) / length;
  const bool enough_rows = rows >= 2 * int64_t{target.compute_units};
  const int64_t runs = (length + kRun - 1) / kRun;
  if (target.schedules->sorts_in_work_groups) {
    if (length > 8192 && !enough_rows) return {(length + kRun - 1) / kRun, kRun, false};
    int64_t items = 1;
    while (items < runs && items < 256 && 2 * items <= target.max_work_group_size) items *= 2;
    return {items, kRun, true};
  }
  // A CPU's work-item is as fast as a thread: cut no finer than there are threads to run.
  constexpr int64_t kPiece = 4096;
  if (length > 2 * kPiece && !enough_rows) return {(length + kPiece - 1) / kPiece, kPiece, false};
  return {1, kPiece, true};
}

// Passes in pairs, from the results to scratch and back, so that the results end where they belong.
// A pass too many copies.
int64_t PairsOfPasses(int64_t length) {
  int64_t pairs = 0;
  for (int64_t width = kRun; width < length; width *= 4) ++pairs;
  return pairs;
}

// Adds what the operands need for the way there and back; the number of the first.
int64_t AddScratchRows(KernelSequence& sequence, const HloSortInstruction& sort) {
  int64_t first = -1;
  for (const xla::HloInstruction* operand : sort.operands()) {
    const int64_t bytes = xla::ShapeUtil::ElementsIn(operand->shape()) *
                          StorageBytes(operand->shape().element_type());
    const int64_t number = sequence.AddScratch(bytes);
    if (first < 0) first = number;
  }
  return first;
}

absl::Status EmitInOneLaunch(KernelSequence& sequence, const HloSortInstruction& sort,
                             const Plan& plan) {
  const int64_t length = sort.operand(0)->shape().dimensions(sort.sort_dimension());
  const int64_t pairs = PairsOfPasses(length);
  const int64_t scratch = pairs > 0 ? AddScratchRows(sequence, sort) : 0;
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FusionContext> kernel, sequence.Begin());
  SortKernel steps(*kernel, sort);
  IndexMath& math = steps.math();
  llvm::IRBuilder<>& b = kernel->b();
  const bool shared = plan.work_items > 1;
  Value* first = shared ? math.ToIndexType(LocalId(*kernel)) : math.Constant(0);
  Value* stride = math.Constant(plan.work_items);
  const auto synchronize = [&] {
    if (shared) Barrier(*kernel);
  };
  steps.SelectRow(GroupId(*kernel));
  TF_RETURN_IF_ERROR(steps.SortRuns(kernel->results(), first, stride));
  if (pairs > 0) {
    const std::vector<Array> other = steps.ScratchArrays(scratch);
    llvm::AllocaInst* width = kernel->Slot(math.type(), math.Constant(kRun));
    synchronize();
    TF_RETURN_IF_ERROR(kernel->For(
        math.Constant(0), math.Constant(pairs), math.Constant(1), [&](Value*) -> absl::Status {
          Value* narrow = b.CreateLoad(math.type(), width);
          TF_RETURN_IF_ERROR(
              steps.MergeRuns(kernel->results(), other, narrow, plan.piece, first, stride));
          synchronize();
          Value* wide = b.CreateShl(narrow, 1);
          TF_RETURN_IF_ERROR(
              steps.MergeRuns(other, kernel->results(), wide, plan.piece, first, stride));
          synchronize();
          b.CreateStore(b.CreateShl(wide, 1), width);
          return absl::OkStatus();
        }));
  }
  const uint64_t items = plan.work_items;
  const uint64_t rows = steps.rows();
  return sequence.End(std::move(kernel), {{rows * items}, {items}});
}

// Launches `body` with the number of a row's work-item, in every row.
absl::StatusOr<LaunchDimensions> PerItem(FusionContext& kernel, SortKernel& steps, const Plan& plan,
                                         absl::FunctionRef<absl::Status(Value* number)> body) {
  const int64_t items = plan.work_items * steps.rows();
  const auto in_row = [&](Value* item) {
    Value* number = steps.math().ToIndexType(item);
    steps.SelectRow(steps.math().Div(number, plan.work_items));
    return body(steps.math().Rem(number, plan.work_items));
  };
  if (kernel.target().schedules->sorts_in_work_groups)
    return kernel.PerWorkItem(items, WorkItemCost::kLoop, in_row);
  // One at a time: a CPU gains nothing from running branches of several work-items side by side.
  TF_RETURN_IF_ERROR(in_row(kernel.GlobalId()));
  return LaunchDimensions{{static_cast<uint64_t>(items)}, {1}};
}

// The width of the next pass is kept on the device, so that one kernel serves every other pass. A
// pass reads one word and writes the other.
absl::Status EmitPass(KernelSequence& sequence, const HloSortInstruction& sort, const Plan& plan,
                      int64_t scratch, int64_t widths, bool there) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FusionContext> kernel,
                      sequence.Begin(there ? "_there" : "_back"));
  SortKernel steps(*kernel, sort);
  IndexMath& math = steps.math();
  const Array words = {xla::ShapeUtil::MakeShape(xla::S64, {2}), kernel->scratch(widths)};
  const Index mine({math.Constant(there ? 0 : 1)});
  const Index next({math.Constant(there ? 1 : 0)});
  TF_ASSIGN_OR_RETURN(Value * stored, kernel->Load(words, mine));
  Value* width = math.ToIndexType(stored);
  TF_RETURN_IF_ERROR(
      kernel->If(kernel->b().CreateICmpEQ(kernel->GlobalId(), kernel->b().getInt64(0)),
                 [&] { return kernel->Store(words, next, kernel->b().CreateShl(stored, 1)); }));
  const std::vector<Array> other = steps.ScratchArrays(scratch);
  TF_ASSIGN_OR_RETURN(LaunchDimensions launch, PerItem(*kernel, steps, plan, [&](Value* number) {
                        return steps.MergeRuns(there ? kernel->results() : other,
                                               there ? other : kernel->results(), width, plan.piece,
                                               number, math.Constant(plan.work_items));
                      }));
  return sequence.End(std::move(kernel), std::move(launch));
}

absl::Status EmitInManyLaunches(KernelSequence& sequence, const HloSortInstruction& sort,
                                const Plan& plan) {
  const int64_t scratch = AddScratchRows(sequence, sort);
  const int64_t widths = sequence.AddScratch(2 * sizeof(int64_t));
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FusionContext> kernel, sequence.Begin("_runs"));
  SortKernel steps(*kernel, sort);
  IndexMath& math = steps.math();
  if (math.type()->getBitWidth() < 64 && steps.length() > int64_t{1} << 28) {
    return UnsupportedOperation(sort, "a row of this length");
  }
  const Array words = {xla::ShapeUtil::MakeShape(xla::S64, {2}), kernel->scratch(widths)};
  TF_RETURN_IF_ERROR(kernel->If(
      kernel->b().CreateICmpEQ(kernel->GlobalId(), kernel->b().getInt64(0)),
      [&] { return kernel->Store(words, Index({math.Constant(0)}), kernel->b().getInt64(kRun)); }));
  TF_ASSIGN_OR_RETURN(LaunchDimensions launch, PerItem(*kernel, steps, plan, [&](Value* number) {
                        return steps.SortRuns(kernel->results(), number,
                                              math.Constant(plan.work_items));
                      }));
  TF_RETURN_IF_ERROR(sequence.End(std::move(kernel), std::move(launch)));

  const int64_t pairs = PairsOfPasses(sort.operand(0)->shape().dimensions(sort.sort_dimension()));
  const int64_t first_pass = sequence.kernels().size();
  TF_RETURN_IF_ERROR(EmitPass(sequence, sort, plan, scratch, widths, /*there=*/true));
  TF_RETURN_IF_ERROR(EmitPass(sequence, sort, plan, scratch, widths, /*there=*/false));
  for (int64_t pair = 1; pair < pairs; ++pair) {
    sequence.LaunchAgain(first_pass);
    sequence.LaunchAgain(first_pass + 1);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status EmitSort(KernelSequence& sequence) {
  const auto& sort = *xla::Cast<HloSortInstruction>(&sequence.instruction());
  for (const xla::HloInstruction* operand : sort.operands()) {
    if (!operand->shape().IsArray()) return UnsupportedOperation(sort);
  }
  if (xla::ShapeUtil::IsZeroElementArray(sort.operand(0)->shape())) return absl::OkStatus();
  const Plan plan = MakePlan(sort, sequence.target());
  return plan.one_launch ? EmitInOneLaunch(sequence, sort, plan)
                         : EmitInManyLaunches(sequence, sort, plan);
}

}  // namespace onexpu::compiler
