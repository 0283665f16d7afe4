#include "pjrt_core/compiler/analysis/small_region.h"

#include <algorithm>
#include <cmath>

#include "pjrt_core/compiler/analysis/dot_queries.h"
#include "pjrt_core/compiler/analysis/hlo_queries.h"
#include "pjrt_core/compiler/analysis/row_queries.h"
#include "pjrt_core/compiler/analysis/small_linear_algebra.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {
namespace {

using xla::HloComputation;
using xla::HloInstruction;
using xla::HloOpcode;

// Nanoseconds, measured on the CPU device (launches: facts of a GPU's runtime are of the same
// order).
constexpr double kLaunch = 2500;
// A loop condition or a selector that the host has to read.
constexpr double kLaunchAndWait = 10000;
constexpr double kBarrier = 100;
constexpr double kSimple = 0.05;  // one operation on one element, side by side with others
constexpr double kTranscendental = 0.3;
constexpr double kSerial = 1.0;  // one step of a sum that no other work-item shares
// One update of a scatter, after the one before it: its memory is read and written. On a GPU, which
// takes ten times as long as estimated for other work (below), about a hundred times.
constexpr double kUpdate = 4.0;
constexpr double kUpdateOnGpu = 40.0;
constexpr double kProduct = 0.012;  // a multiply-add of a dot, 16 at a time
constexpr double kFactor = 0.1;     // loading an element that many rows of a dot share
// A step of a factorisation: its memory is read after another step wrote it. On a GPU as above.
constexpr double kColumnStep = 1.0;
constexpr double kColumnStepOnGpu = 40.0;
// A region of one work-item needs no barriers, and its optimiser keeps values in registers; several
// compute 16 elements in the time of one. A barrier as one work-group's few vectors take it.
constexpr double kScalar = 0.4;
constexpr double kScalarTranscendental = 5;
constexpr double kVectorBarrier = 20;
constexpr double kVectorLanes = 16;
// A library call that is a function of the host, and one that the host waits for.
constexpr double kLibraryCall = 5000;
constexpr double kLibraryCallAndWait = 50000;
// How many instructions the code of a factorisation or a triangular solve counts as.
constexpr int64_t kInstructionsOfFactorisation = 40;
// More than that is no small kernel: the device's compiler takes its time for each instruction.
// Those of a dot count once for each row that the code has at a time.
constexpr int64_t kMaxRegionInstructions = 1000;
// The longest launch on a GPU, by the estimates above: 0.5 s if a GPU's work-group takes ten times
// as long as the CPU device's. i915 (by a heartbeat) and xe (by job_timeout_ms) kill what runs for
// seconds.
constexpr double kMaxLaunchNanoseconds = 50e6;

struct Estimate {
  bool supported = true;
  bool has_unknown_loop = false;
  int64_t instructions = 0;
  double as_region = 0;
  double as_launches = 0;
  // The region, by one work-item and by several.
  bool allows_one_item = true;
  bool has_scalars_only = true;
  double by_one_item = 0;
  double by_several_items = 0;
};

double Elements(const xla::Shape& shape) {
  double count = 0;
  xla::ShapeUtil::ForEachSubshape(shape, [&](const xla::Shape& leaf, const xla::ShapeIndex&) {
    if (leaf.IsArray())
      count = std::max(count, static_cast<double>(xla::ShapeUtil::ElementsIn(leaf)));
  });
  return count;
}

int64_t MaxRegionWorkItems(const Target& target) {
  return std::min<int64_t>(target.schedules->max_region_work_items, target.max_work_group_size);
}

// How many times the elements of `instruction` are computed by loops in each of its elements.
double SerialSteps(const HloInstruction& instruction) {
  const double results = std::max(1.0, Elements(instruction.shape()));
  switch (instruction.opcode()) {
    case HloOpcode::kReduce:
      return Elements(instruction.operand(0)->shape()) / results;
    case HloOpcode::kReduceWindow:
    case HloOpcode::kConvolution: {
      double steps = 1;
      for (const auto& dimension : instruction.window().dimensions()) steps *= dimension.size();
      return instruction.opcode() == HloOpcode::kConvolution
                 ? steps * instruction.operand(1)->shape().dimensions(
                               instruction.convolution_dimension_numbers()
                                   .kernel_input_feature_dimension())
                 : steps;
    }
    default:
      return 1;
  }
}

// Elements of one window are updated side by side, windows one after the other. Windows that
// overlap cost more.
double CostOfScatter(const xla::HloScatterInstruction& scatter, const Target& target) {
  const xla::Shape& indices = scatter.scatter_indices()->shape();
  const int64_t vector = scatter.scatter_dimension_numbers().index_vector_dim();
  double windows = 1;
  for (int64_t i = 0; i < indices.dimensions().size(); ++i) {
    if (i != vector) windows *= static_cast<double>(indices.dimensions(i));
  }
  const double updates = Elements(scatter.scatter_updates()[0]->shape());
  if (scatter.unique_indices() || updates == 0) return updates * kSimple;
  const double rounds = updates / windows / static_cast<double>(MaxRegionWorkItems(target));
  const double update = target.schedules->bounds_launch_time ? kUpdateOnGpu : kUpdate;
  return windows * std::max(1.0, rounds) * update;
}

// Elements that an operation computes: an update is made in place.
double ComputedElements(const HloInstruction& instruction) {
  if (const auto* scatter = xla::DynCast<xla::HloScatterInstruction>(&instruction)) {
    return Elements(scatter->scatter_updates()[0]->shape());
  }
  const bool updates = instruction.opcode() == HloOpcode::kDynamicUpdateSlice;
  return Elements(updates ? instruction.operand(1)->shape() : instruction.shape());
}

double CostOfOperation(const HloInstruction& instruction, const Target& target) {
  if (const auto* scatter = xla::DynCast<xla::HloScatterInstruction>(&instruction)) {
    return CostOfScatter(*scatter, target);
  }
  const double results = ComputedElements(instruction);
  if (instruction.opcode() == HloOpcode::kDot) {
    const double factors = std::max(Elements(instruction.operand(0)->shape()),
                                    Elements(instruction.operand(1)->shape()));
    return std::max(Products(instruction) * kProduct, factors * kFactor);
  }
  const double steps = SerialSteps(instruction);
  if (steps > 1) {
    const double rounds = std::max(1.0, results / static_cast<double>(MaxRegionWorkItems(target)));
    return std::max(rounds * steps * kSerial, results * steps * kSimple);
  }
  return results * (IsTranscendental(instruction.opcode()) ? kTranscendental : kSimple);
}

bool IsSupported(const HloInstruction& instruction) {
  switch (instruction.opcode()) {
    case HloOpcode::kFusion:
      return !instruction.IsCustomFusion() &&
             OneResultOf(instruction).opcode() != HloOpcode::kFft &&
             RowReductions(instruction).empty();
    case HloOpcode::kReduce:
    case HloOpcode::kScatter:
      return true;
    case HloOpcode::kBroadcast:
    case HloOpcode::kConcatenate:
    case HloOpcode::kDot:
    case HloOpcode::kDynamicSlice:
    case HloOpcode::kDynamicUpdateSlice:
    case HloOpcode::kGather:
    case HloOpcode::kIota:
    case HloOpcode::kPad:
    case HloOpcode::kReduceWindow:
    case HloOpcode::kReshape:
    case HloOpcode::kReverse:
    case HloOpcode::kSlice:
    case HloOpcode::kTranspose:
      return instruction.shape().IsArray();
    default:
      return instruction.shape().IsArray() && instruction.IsElementwise() &&
             !instruction.HasSideEffect();
  }
}

// How many times the code of a kernel with the dot is written out, and of what is done with its
// elements: for each row of a block, and for each of those that fill none.
int64_t RowsWrittenOut(const HloInstruction& dot, const Target& target) {
  if (!target.schedules->has_block_dots || dot.shape().dimensions().empty()) return 1;
  const int64_t columns = dot.shape().dimensions().back();
  if (columns < kMinBlockColumns || !ColumnsOf(dot).has_value()) return 1;  // no blocks
  const int64_t rows = xla::ShapeUtil::ElementsIn(dot.shape()) / columns;
  return rows < kDotRows ? std::max<int64_t>(1, rows) : kDotRows + rows % kDotRows;
}

int64_t CodeOf(const HloInstruction& instruction, const Target& target) {
  if (instruction.opcode() == HloOpcode::kDot) return RowsWrittenOut(instruction, target);
  if (instruction.opcode() != HloOpcode::kFusion) return 1;
  int64_t rows = 1;
  for (const HloInstruction* inner : instruction.fused_instructions()) {
    if (inner->opcode() == HloOpcode::kDot) rows = std::max(rows, RowsWrittenOut(*inner, target));
  }
  return rows * instruction.fused_instruction_count();
}

// Of one operation, alone or in a fusion.
void AddItems(const HloInstruction& instruction, Estimate& estimate) {
  const double elements = ComputedElements(instruction);
  const double steps = instruction.opcode() == HloOpcode::kDot
                           ? Products(instruction) / std::max(1.0, elements)
                           : std::max(1.0, SerialSteps(instruction));
  const double operation =
      (IsTranscendental(instruction.opcode()) ? kScalarTranscendental : kScalar) * steps;
  estimate.by_one_item += operation * elements;
  estimate.by_several_items += operation * std::ceil(elements / kVectorLanes);
}

void Add(const HloComputation& computation, const Target& target, Estimate& estimate);

void AddControlFlow(const HloInstruction& instruction, const Target& target, Estimate& estimate) {
  if (instruction.opcode() == HloOpcode::kWhile) {
    const int64_t known = KnownTripCount(instruction);
    Estimate step;
    Add(*instruction.while_body(), target, step);
    if (known < 0) {
      Add(*instruction.while_condition(), target, step);
      step.as_launches += kLaunchAndWait;
    }
    // A guess that weighs a loop more than what is around it.
    const double trips = known < 0 ? 16 : static_cast<double>(known);
    estimate.supported &= step.supported;
    estimate.has_unknown_loop |= known < 0 || step.has_unknown_loop;
    estimate.instructions += step.instructions;
    estimate.as_region += trips * step.as_region;
    estimate.as_launches += trips * step.as_launches;
    estimate.allows_one_item &= step.allows_one_item;
    estimate.has_scalars_only &= step.has_scalars_only;
    estimate.by_one_item += trips * step.by_one_item;
    estimate.by_several_items += trips * step.by_several_items;
    return;
  }
  if (instruction.opcode() == HloOpcode::kConditional) estimate.as_launches += kLaunchAndWait;
  for (const HloComputation* called : instruction.called_computations())
    Add(*called, target, estimate);
}

void AddLinearAlgebra(const HloInstruction& call, const Target& target, Estimate& estimate) {
  const RegionSteps steps = RegionStepsOf(call, MaxRegionWorkItems(target));
  const double step = target.schedules->bounds_launch_time ? kColumnStepOnGpu : kColumnStep;
  estimate.instructions += kInstructionsOfFactorisation;
  estimate.allows_one_item = false;
  estimate.as_region += (1 + steps.barriers) * kBarrier + steps.serial * step;
  estimate.as_launches += target.schedules->calls_lapack ? kLibraryCall : kLibraryCallAndWait;
}

void Add(const HloComputation& computation, const Target& target, Estimate& estimate) {
  for (const HloInstruction* instruction : computation.instructions()) {
    if (!estimate.supported) return;
    if (IsFree(*instruction)) continue;
    switch (instruction->opcode()) {
      case HloOpcode::kWhile:
      case HloOpcode::kConditional:
      case HloOpcode::kCall:
        AddControlFlow(*instruction, target, estimate);
        continue;
      default:
        break;
    }
    if (HasRegionForm(*instruction)) {
      AddLinearAlgebra(*instruction, target, estimate);
      continue;
    }
    if (!IsSupported(*instruction)) {
      estimate.supported = false;
      return;
    }
    double cost = 0;
    estimate.instructions += CodeOf(*instruction, target);
    estimate.by_several_items += kVectorBarrier;
    estimate.has_scalars_only &= ComputedElements(RootOf(*instruction)) <= 1;
    if (instruction->opcode() == HloOpcode::kFusion) {
      for (const HloInstruction* inner : instruction->fused_instructions()) {
        // Nothing beyond the result's elements is computed of what no loop asks for.
        if (inner->opcode() != HloOpcode::kParameter && inner->opcode() != HloOpcode::kConstant) {
          cost += CostOfOperation(*inner, target);
          AddItems(*inner, estimate);
        }
      }
    } else {
      cost = CostOfOperation(*instruction, target);
      AddItems(*instruction, estimate);
    }
    estimate.as_region += kBarrier + cost;
    estimate.as_launches += kLaunch + cost / std::max<uint32_t>(1, target.compute_units);
  }
}

// One step of a loop, with the condition.
Estimate StepOf(const HloInstruction& loop, const Target& target) {
  Estimate step;
  Add(*loop.while_condition(), target, step);
  Add(*loop.while_body(), target, step);
  return step;
}

// Whether a launch, of some steps if it is a loop, ends in time.
bool EndsInTime(const HloInstruction& instruction, const Estimate& estimate, const Target& target) {
  if (instruction.opcode() != HloOpcode::kWhile) {
    return !estimate.has_unknown_loop && estimate.as_region <= kMaxLaunchNanoseconds;
  }
  const Estimate step = StepOf(instruction, target);
  return !step.has_unknown_loop && step.as_region <= kMaxLaunchNanoseconds;
}

}  // namespace

int64_t RegionWorkItems(const HloInstruction& instruction, const Target& target) {
  Estimate estimate;
  AddControlFlow(instruction, target, estimate);
  const bool is_one = target.schedules->has_vector_sub_groups
                          ? estimate.by_one_item <= estimate.by_several_items
                          : estimate.has_scalars_only;
  return is_one && estimate.allows_one_item ? 1 : MaxRegionWorkItems(target);
}

bool IsSmallRegion(const HloInstruction& instruction, const Target& target) {
  Estimate estimate;
  AddControlFlow(instruction, target, estimate);
  return estimate.supported && estimate.instructions > 0 &&
         estimate.instructions <= kMaxRegionInstructions &&
         estimate.as_region <= estimate.as_launches &&
         (!target.schedules->bounds_launch_time || EndsInTime(instruction, estimate, target));
}

std::optional<int64_t> MaxStepsPerLaunch(const HloInstruction& instruction, const Target& target) {
  if (!target.schedules->bounds_launch_time || instruction.opcode() != HloOpcode::kWhile) {
    return std::nullopt;
  }
  const double step = std::max(1.0, StepOf(instruction, target).as_region);
  const int64_t most = static_cast<int64_t>(kMaxLaunchNanoseconds / step);
  const int64_t known = KnownTripCount(instruction);
  if (known >= 0 && known <= most) return std::nullopt;
  return std::max<int64_t>(1, most);
}

}  // namespace onexpu::compiler
