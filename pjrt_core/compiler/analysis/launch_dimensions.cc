#include "pjrt_core/compiler/analysis/launch_dimensions.h"

#include <algorithm>

#include "absl/algorithm/container.h"

namespace onexpu::compiler {
namespace {

constexpr uint64_t kVector = kVectorLanes;

// The greatest divisor of `count` that is a multiple of `step` and at most `limit`; 0 when there is
// none.
uint64_t DivisorUpTo(uint64_t count, uint64_t limit, uint64_t step) {
  for (uint64_t size = limit / step * step; size >= step; size -= step) {
    if (count % size == 0) return size;
  }
  return 0;
}

uint64_t RoundUp(uint64_t count, uint64_t step) { return (count + step - 1) / step * step; }

uint64_t WorkGroupLimit(WorkItemCost cost, const Target& target) {
  return std::min<uint64_t>(cost == WorkItemCost::kElement ? 1024 : 64, target.max_work_group_size);
}

}  // namespace

bool HasVectorSubGroups(const Target& target) {
  return target.schedules->has_vector_sub_groups &&
         absl::c_linear_search(target.sub_group_sizes, kVectorLanes);
}

LaunchDimensions ChooseLaunch(int64_t count, WorkItemCost cost, const Target& target) {
  const uint64_t items = std::max<int64_t>(count, 1);
  const uint64_t limit = WorkGroupLimit(cost, target);
  if (cost == WorkItemCost::kElement && items <= limit) {
    // A launch of one work-item lets the CPU device reorder what the work-item does.
    const uint64_t padded = items < kVector ? kVector : items;
    return {{padded}, {padded}};
  }
  if (uint64_t local = DivisorUpTo(items, limit, std::min(kVector, limit)))
    return {{items}, {local}};
  const uint64_t local = items < limit ? kVector : limit;
  return {{RoundUp(items, local)}, {local}};
}

LaunchDimensions ChooseRowLaunch(int64_t rows, int64_t columns, WorkItemCost cost,
                                 const Target& target) {
  // Starting a work-group of fewer work-items costs more than its work.
  constexpr uint64_t kMinWorkItemsPerGroup = 128;
  const uint64_t limit = WorkGroupLimit(cost, target);
  uint64_t local_columns = DivisorUpTo(columns, limit, std::min(kVector, limit));
  if (local_columns == 0) local_columns = std::min<uint64_t>(columns, limit);
  const uint64_t row_limit = std::min<uint64_t>(limit / local_columns, rows);
  uint64_t local_rows = DivisorUpTo(rows, row_limit, 1);
  if (local_rows * local_columns < kMinWorkItemsPerGroup) local_rows = row_limit;
  return {{RoundUp(rows, local_rows), RoundUp(columns, local_columns)},
          {local_rows, local_columns}};
}

LaunchDimensions ChooseBlockLaunch(int64_t blocks, int64_t columns, int64_t most,
                                   const Target& target) {
  const uint64_t limit =
      std::min<uint64_t>(WorkGroupLimit(WorkItemCost::kLoop, target), std::max<int64_t>(most, 1));
  const uint64_t vector = std::min(kVector, limit);
  uint64_t local = DivisorUpTo(columns, limit, vector);
  if (local == 0) local = vector;
  return {{static_cast<uint64_t>(blocks), RoundUp(columns, local)}, {1, local}};
}

LaunchDimensions ChooseResizableLaunch(int64_t rows, int64_t columns, const Target& target) {
  // Rows are of any length: in longer work-groups short ones would leave more work-items idle.
  constexpr uint64_t kRowWorkItems = 64;
  const uint64_t limit = WorkGroupLimit(WorkItemCost::kElement, target);
  if (rows == 1) return {{RoundUp(columns, limit)}, {limit}};
  const uint64_t local_columns = std::min(kRowWorkItems, limit);
  const uint64_t local_rows = limit / local_columns;
  return {{RoundUp(rows, local_rows), RoundUp(columns, local_columns)},
          {local_rows, local_columns}};
}

}  // namespace onexpu::compiler
