// How many work-items a kernel is started with. The one place that chooses launch sizes.
#ifndef PJRT_CORE_COMPILER_ANALYSIS_LAUNCH_DIMENSIONS_H_
#define PJRT_CORE_COMPILER_ANALYSIS_LAUNCH_DIMENSIONS_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "pjrt_core/compiler/target/target.h"

namespace onexpu::compiler {

// Work-items of a vector, so that the device's compiler can vectorize across them.
inline constexpr int64_t kVectorLanes = 16;

// Whether sub-groups of a CPU may be as large.
bool HasVectorSubGroups(const Target& target);

// SYCL's order, slowest first (OpenCL's get_global_id(0) is the last entry); `local` divides
// `global`.
struct LaunchDimensions {
  absl::InlinedVector<uint64_t, 3> global;
  absl::InlinedVector<uint64_t, 3> local;
};

enum class WorkItemCost {
  kElement,  // a few instructions each
  kLoop,     // each runs a loop of its own
};

// One dimension with at least `count` work-items. When the result has more than `count`, the kernel
// must guard its tail.
LaunchDimensions ChooseLaunch(int64_t count, WorkItemCost cost, const Target& target);

// Two dimensions, rows by columns, so that the position in a row needs no division. Both entries of
// `global` may be greater than asked for: the kernel then guards that side.
LaunchDimensions ChooseRowLaunch(int64_t rows, int64_t columns, WorkItemCost cost,
                                 const Target& target);

// The same for rows that are blocks with a loop in each work-item: a work-group has up to `most`
// columns of one.
LaunchDimensions ChooseBlockLaunch(int64_t blocks, int64_t columns, int64_t most,
                                   const Target& target);

// The launch of a resizable kernel, for the sizes that it was compiled for. Its work-groups are
// those of every size, and it guards all sides.
LaunchDimensions ChooseResizableLaunch(int64_t rows, int64_t columns, const Target& target);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_ANALYSIS_LAUNCH_DIMENSIONS_H_
