#include "pjrt_core/compiler/codegen/schedules/scatter_plan.h"

#include <algorithm>
#include <limits>

#include "absl/algorithm/container.h"
#include "absl/numeric/bits.h"
#include "pjrt_core/compiler/analysis/launch_dimensions.h"
#include "pjrt_core/compiler/codegen/elemental/types.h"
#include "xla/shape_util.h"
#include "xla/util.h"

namespace onexpu::compiler {
namespace {

using xla::HloScatterInstruction;

constexpr int64_t kLanes = kVectorLanes;

// On a GPU each update waits for its index and for the element that it replaces: some microseconds,
// which have not been measured. A launch must not take seconds, because drivers kill it.
constexpr int64_t kMaxUpdatesPerLaunch = 100'000;

// Bytes from one position of the operand's dimension to the next.
int64_t StrideBytes(const xla::Shape& shape, int64_t dimension) {
  int64_t stride = StorageBytes(shape.element_type());
  for (const int64_t d : shape.layout().minor_to_major()) {
    if (d == dimension) break;
    stride *= shape.dimensions(d);
  }
  return stride;
}

// Whether elements that are apart have indices of their own.
bool HasBatch(const ScatterDimensions& dimensions) {
  return absl::c_any_of(dimensions.index_dimensions(),
                        [&](int64_t d) { return absl::c_linear_search(dimensions.apart(), d); });
}

int64_t ChoosePieces(const HloScatterInstruction& scatter, const ScatterDimensions& dimensions,
                     const Target& target) {
  // Updates per result element that pay for combining the partial results afterwards.
  constexpr int64_t kMinUpdatesPerResult = 4;
  if (!ScatterKernel::HasIdentity(scatter)) return 1;
  const int64_t updates = xla::ShapeUtil::ElementsIn(dimensions.updates());
  const int64_t results = xla::ShapeUtil::ElementsIn(scatter.operand(0)->shape());
  return std::clamp<int64_t>(updates / (kMinUpdatesPerResult * results), 1, target.compute_units);
}

void Deal(const HloScatterInstruction& scatter, const ScatterDimensions& dimensions,
          const Target& target, ScatterPlan& plan) {
  constexpr int64_t kMinIndices = 256;  // with fewer, threads have little to choose from
  // Two threads should neither write nor read within the same block of this size.
  constexpr int64_t kMinBytesPerThread = 256;
  constexpr int64_t kMinThreads = 8;  // threads that gain although all read all updates
  // All work-items of a group share the list of what is theirs, so they must have the same indices.
  if (HasBatch(dimensions) || plan.meeting < kMinIndices ||
      plan.meeting > std::numeric_limits<int32_t>::max()) {
    return;
  }
  const xla::Shape& operand = scatter.operand(0)->shape();
  const auto& named = scatter.scatter_dimension_numbers().scatter_dims_to_operand_dims();
  for (int64_t i = 0; i < named.size(); ++i) {
    if (dimensions.window(named[i]) != 1) continue;
    const int64_t stride = StrideBytes(operand, named[i]);
    const int64_t run = absl::bit_ceil<uint64_t>(xla::CeilOfRatio(kMinBytesPerThread, stride));
    const int64_t hands = std::min<int64_t>(target.compute_units,
                                            xla::CeilOfRatio(operand.dimensions(named[i]), run));
    if (hands <= plan.hands || (run > 1 && hands < kMinThreads)) continue;
    plan.hands = hands;
    plan.run = run;
    plan.component = i;
  }
}

}  // namespace

ScatterPlan ChooseScatterPlan(const HloScatterInstruction& scatter,
                              const ScatterDimensions& dimensions, const Target& target) {
  ScatterPlan plan;
  for (const int64_t extent : dimensions.Extents(dimensions.meeting())) plan.meeting *= extent;
  for (const int64_t extent : dimensions.Extents(dimensions.apart())) plan.apart *= extent;
  plan.block = plan.lanes = std::min(kLanes, plan.apart);
  if (!target.schedules->scatters_in_vectors) {
    plan.groups = xla::CeilOfRatio(plan.apart, plan.block);
    if (target.schedules->bounds_launch_time && plan.meeting > kMaxUpdatesPerLaunch)
      plan.updates_per_launch = kMaxUpdatesPerLaunch;
    return plan;
  }
  // Vectors that are not full go through masks, which cost a CPU more than scalars do.
  if (plan.apart % kLanes != 0 && !HasBatch(dimensions)) plan.lanes = 1;
  constexpr int64_t kMinParallelElements = 16384;  // elements; fewer do not pay for another thread
  if (plan.meeting * plan.apart >= kMinParallelElements) {
    plan.pieces = ChoosePieces(scatter, dimensions, target);
    if (plan.pieces == 1) Deal(scatter, dimensions, target, plan);
  }
  const int64_t share = plan.pieces * plan.hands;
  if (share < target.compute_units) {
    plan.groups = std::min(xla::CeilOfRatio(plan.apart, plan.block),
                           xla::CeilOfRatio<int64_t>(2 * target.compute_units, share));
  }
  return plan;
}

}  // namespace onexpu::compiler
