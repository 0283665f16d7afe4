// Fuses row reductions with the elementwise work on the same rows. A work-group scans a row once
// for each reduction, then once more for its results. The row is read from memory once. Expensive
// values are cached in local memory after the scan that first computes them: each lane reads only
// what it has written.
#include <algorithm>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "pjrt_core/compiler/analysis/hlo_queries.h"
#include "pjrt_core/compiler/analysis/launch_dimensions.h"
#include "pjrt_core/compiler/analysis/row_queries.h"
#include "pjrt_core/compiler/codegen/elemental/accumulators.h"
#include "pjrt_core/compiler/codegen/elemental/types.h"
#include "pjrt_core/compiler/codegen/kernel/work_group.h"
#include "pjrt_core/compiler/codegen/schedules/reduction_kernel.h"
#include "pjrt_core/compiler/codegen/schedules/schedules.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"
#include "xla/util.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;
using xla::HloInstruction;

// Work-items of a group, side by side along a row. On a CPU they are a sub-group.
int64_t ChooseLanes(const Rows& rows, const Target& target) {
  if (target.schedules->has_vector_sub_groups) return kVectorLanes;
  int64_t lanes = 1;
  while (2 * lanes <= std::min<int64_t>({kMaxRowLanes, target.max_work_group_size, rows.length}))
    lanes *= 2;
  return lanes;
}

// Rows of a group, one after another. All groups have as many.
int64_t ChooseTogether(const Rows& rows, const Target& target) {
  if (!target.schedules->has_several_rows_per_group) return 1;
  // Starting a group costs as much as some hundreds of elements.
  constexpr int64_t kMinElementsPerGroup = 8192;
  const int64_t wanted = 8 * int64_t{target.compute_units};
  int64_t together =
      std::max<int64_t>(1, std::min(kMinElementsPerGroup / rows.length, rows.count / wanted));
  while (rows.count % together != 0) --together;
  return together;
}

// A scan along a row for each reduction, and one for the results. Between two scans all lanes get
// what all have: on a CPU in registers, as a sub-group is a vector there; on a GPU, where a group
// is many sub-groups, through local memory.
class RowKernel {
 public:
  RowKernel(FusionContext& kernel, const std::vector<const HloInstruction*>& reductions)
      : kernel_(kernel),
        math_(kernel.index_math()),
        reductions_(reductions),
        rows_(*RowsOf(*reductions[0])),
        shape_(*reductions[0]),
        lanes_(ChooseLanes(rows_, kernel.target())) {}

  absl::StatusOr<LaunchDimensions> Emit() {
    ChooseKept();
    for (Kept& kept : kept_) kept.local = LocalArray(kernel_, kept.type, rows_.length);
    lane_ = math_.ToIndexType(LocalId(kernel_));
    const int64_t together = ChooseTogether(rows_, kernel_.target());
    TF_RETURN_IF_ERROR(ForEachRow(together, [&](Value* row) { return ScanRow(row); }));
    return LaunchDimensions{{static_cast<uint64_t>(rows_.count / together * lanes_)},
                            {static_cast<uint64_t>(lanes_)}};
  }

 private:
  struct Kept {
    const HloInstruction* instruction;
    size_t since;             // the scan that computes it
    xla::PrimitiveType type;  // that is kept
    Array local;              // the row's elements
  };

  // Chooses expensive values that several scans need, up to the size of local memory. Of values
  // that depend on each other, the last is chosen first.
  void ChooseKept() {
    int64_t bytes = RowBytesToKeep(kernel_.target());
    std::vector<HloInstruction*> instructions = kernel_.root().parent()->MakeInstructionPostOrder();
    for (auto next = instructions.rbegin(); next != instructions.rend(); ++next) {
      const HloInstruction& instruction = **next;
      const xla::PrimitiveType type = instruction.shape().element_type();
      // One value stands for the instruction at the current element, so all users must read that
      // one.
      if (!IsTranscendental(instruction.opcode()) ||
          !xla::primitive_util::IsFloatingPointType(type) ||
          !xla::ShapeUtil::SameDimensions(instruction.shape(), rows_.shape) ||
          !StaysInItsRow(instruction, rows_)) {
        continue;
      }
      std::vector<size_t> scans;
      for (size_t scan = 0; scan <= reductions_.size(); ++scan) {
        const HloInstruction& end = scan < reductions_.size() ? *reductions_[scan] : kernel_.root();
        if (NeededFor(end).contains(&instruction)) scans.push_back(scan);
      }
      if (scans.size() < 2) continue;
      const int64_t wanted = RowBytes(type, rows_);
      if (wanted > bytes) continue;
      bytes -= wanted;
      const xla::PrimitiveType kept = type == xla::F64 ? xla::F64 : xla::F32;
      kept_.push_back({&instruction, scans[0], kept, Array()});
    }
  }

  // What a scan computes for `end`: what other scans reduced is a number to it, and what is kept
  // needs nothing more.
  absl::flat_hash_set<const HloInstruction*> NeededFor(const HloInstruction& end) const {
    absl::flat_hash_set<const HloInstruction*> needed = {&end};
    std::vector<const HloInstruction*> open(end.operands().begin(), end.operands().end());
    while (!open.empty()) {
      const HloInstruction* instruction = open.back();
      open.pop_back();
      if (absl::c_linear_search(reductions_, instruction)) continue;
      if (!needed.insert(instruction).second || IsKept(*instruction)) continue;
      open.insert(open.end(), instruction->operands().begin(), instruction->operands().end());
    }
    return needed;
  }

  bool IsKept(const HloInstruction& instruction) const {
    return absl::c_any_of(kept_,
                          [&](const Kept& kept) { return kept.instruction == &instruction; });
  }

  // How many elements a lane combines before they join its running result. If little is computed
  // for an element, the code for several fits, and each would wait for the one before.
  int64_t ElementsTogether(const HloInstruction& reduce) const {
    constexpr int64_t kUnroll = 4;
    // Instructions, with the reduction and its initial value.
    constexpr size_t kMaxUnrolledInstructions = 8;
    const bool is_long = rows_.length >= 2 * kUnroll * lanes_;
    return is_long && NeededFor(reduce).size() <= kMaxUnrolledInstructions ? kUnroll : 1;
  }

  ReductionKernel StepsOf(const HloInstruction& reduce) {
    return ReductionKernel(kernel_, reduce, shape_, ElementsTogether(reduce) * lanes_);
  }

  absl::Status ForEachRow(int64_t together, absl::FunctionRef<absl::Status(Value*)> body) {
    Value* first = math_.Mul(math_.ToIndexType(GroupId(kernel_)), together);
    if (together == 1) return body(first);
    return kernel_.For(math_.Constant(0), math_.Constant(together), math_.Constant(1),
                       [&](Value* in_group) { return body(math_.Add(first, in_group)); });
  }

  absl::Status ScanRow(Value* row) {
    std::vector<ReductionValues> results;
    // The binding of a value is valid in the loop in which it is made.
    const auto bind = [&] {
      for (size_t i = 0; i < results.size(); ++i) kernel_.BindValues(*reductions_[i], results[i]);
    };
    for (size_t scan = 0; scan < reductions_.size(); ++scan) {
      bind();
      ReductionKernel steps = StepsOf(*reductions_[scan]);
      TF_ASSIGN_OR_RETURN(ReductionValues values, Reduce(scan, row));
      TF_ASSIGN_OR_RETURN(values, CombineLanes(steps, std::move(values)));
      TF_ASSIGN_OR_RETURN(results.emplace_back(), steps.Result(values));
    }
    bind();
    return ForEachOfLane(0, [&](Value* element) -> absl::Status {
      TF_RETURN_IF_ERROR(TakeKept(reductions_.size(), element));
      return StoreResults(IndexOf(row, element));
    });
  }

  // What all lanes have together, for each of them.
  absl::StatusOr<ReductionValues> CombineLanes(ReductionKernel& steps, ReductionValues values) {
    if (kernel_.target().schedules->combines_lanes_in_local_memory) {
      const std::vector<Array> of_lanes = steps.LocalArrays(lanes_);
      TF_RETURN_IF_ERROR(steps.Store(of_lanes, lane_, values));
      TF_RETURN_IF_ERROR(steps.CombineLocal(of_lanes, lane_, math_.Constant(0), lanes_,
                                            /*columns=*/1, math_.Constant(lanes_)));
      return steps.Load(of_lanes, math_.Constant(0));
    }
    return steps.CombineSubGroup(std::move(values), lane_, lanes_);
  }

  // What each lane has of a row.
  absl::StatusOr<ReductionValues> Reduce(size_t scan, Value* row) {
    const HloInstruction& reduce = *reductions_[scan];
    ReductionKernel steps = StepsOf(reduce);
    const auto at = [&](Value* element) -> absl::StatusOr<ReductionValues> {
      const Index index = IndexOf(row, element);
      TF_RETURN_IF_ERROR(TakeKept(scan, element));
      TF_ASSIGN_OR_RETURN(ReductionValues values, ReducedElements(kernel_, reduce, index));
      TF_RETURN_IF_ERROR(Keep(scan, index, element));
      return values;
    };
    const int64_t several = ElementsTogether(reduce);
    const int64_t stride = several * lanes_;
    const auto together_at = [&](Value* base) -> absl::StatusOr<ReductionValues> {
      std::vector<ReductionValues> values;
      for (int64_t i = 0; i < several; ++i) {
        TF_ASSIGN_OR_RETURN(values.emplace_back(),
                            at(math_.Add(math_.Add(base, i * lanes_), lane_)));
      }
      return steps.CombineInPairs(std::move(values));
    };
    TF_ASSIGN_OR_RETURN(const ReductionValues initial, together_at(math_.Constant(0)));
    Accumulators running(kernel_, reduce, initial, several * lanes_);
    const int64_t together = rows_.length / stride * stride;
    TF_RETURN_IF_ERROR(kernel_.For(math_.Constant(stride), math_.Constant(together),
                                   math_.Constant(stride), [&](Value* base) -> absl::Status {
                                     TF_ASSIGN_OR_RETURN(const ReductionValues values,
                                                         together_at(base));
                                     return running.Add(values);
                                   }));
    TF_RETURN_IF_ERROR(ForEachOfLane(together, [&](Value* element) -> absl::Status {
      TF_ASSIGN_OR_RETURN(const ReductionValues values, at(element));
      return running.Add(values);
    }));
    return running.Running();
  }

  // Elements of the row from `first` on, a multiple of the lanes: this lane's, side by side with
  // the others'.
  absl::Status ForEachOfLane(int64_t first, absl::FunctionRef<absl::Status(Value*)> body) {
    const int64_t whole = rows_.length / lanes_ * lanes_;
    const auto of_lane = [&](Value* base) { return body(math_.Add(base, lane_)); };
    if (first < whole) {
      TF_RETURN_IF_ERROR(kernel_.For(math_.Constant(first), math_.Constant(whole),
                                     math_.Constant(lanes_), of_lane));
    }
    if (whole == rows_.length) return absl::OkStatus();
    Value* rest = math_.Constant(whole);
    return kernel_.If(
        kernel_.b().CreateICmpSLT(math_.Add(rest, lane_), math_.Constant(rows_.length)),
        [&] { return of_lane(rest); });
  }

  Index IndexOf(Value* row, Value* element) {
    return ReductionKernel(kernel_, *reductions_[0], shape_).IndexOf(row, element);
  }

  // What earlier scans kept stands for its instruction.
  absl::Status TakeKept(size_t scan, Value* element) {
    for (const Kept& kept : kept_) {
      if (kept.since >= scan) continue;
      TF_ASSIGN_OR_RETURN(Value * value, kernel_.Load(kept.local, Index({element})));
      kernel_.BindValues(*kept.instruction, {value});
    }
    return absl::OkStatus();
  }

  absl::Status Keep(size_t scan, const Index& index, Value* element) {
    for (const Kept& kept : kept_) {
      if (kept.since != scan) continue;
      TF_ASSIGN_OR_RETURN(Value * value, kernel_.Element(*kept.instruction, index));
      TF_RETURN_IF_ERROR(kernel_.Store(kept.local, Index({element}), value));
    }
    return absl::OkStatus();
  }

  absl::Status StoreResults(const Index& at) {
    TF_ASSIGN_OR_RETURN(const std::vector<Value*> values, kernel_.Elements(kernel_.root(), at));
    for (size_t i = 0; i < values.size(); ++i) {
      TF_RETURN_IF_ERROR(kernel_.Store(static_cast<int64_t>(i), at, values[i]));
    }
    return absl::OkStatus();
  }

  FusionContext& kernel_;
  IndexMath& math_;
  const std::vector<const HloInstruction*>& reductions_;
  const Rows rows_;
  const ReductionShape shape_;
  const int64_t lanes_;
  Value* lane_ = nullptr;
  std::vector<Kept> kept_;
};

}  // namespace

absl::StatusOr<bool> EmitRowFusion(KernelSequence& sequence) {
  const std::vector<const HloInstruction*> reductions = RowReductions(sequence.instruction());
  if (reductions.empty()) return false;
  const Rows rows = *RowsOf(*reductions[0]);
  if (!ShouldUseRowSchedule(rows, sequence.instruction(), sequence.target())) return false;
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FusionContext> kernel, sequence.Begin());
  TF_ASSIGN_OR_RETURN(LaunchDimensions launch, RowKernel(*kernel, reductions).Emit());
  TF_RETURN_IF_ERROR(sequence.End(std::move(kernel), std::move(launch)));
  return true;
}

}  // namespace onexpu::compiler
