#include "pjrt_core/compiler/codegen/launch_dimensions.h"

#include <algorithm>

namespace onexpu::compiler {
namespace {

// The greatest divisor of `count` that is a multiple of `step` and at most `limit`; 0 when there is none.
uint64_t DivisorUpTo(uint64_t count, uint64_t limit, uint64_t step) {
  for (uint64_t size = limit / step * step; size >= step; size -= step) {
    if (count % size == 0) return size;
  }
  return 0;
}

}  // namespace

LaunchDimensions ChooseLaunch(int64_t count, WorkItemCost cost, const Target& target) {
  // A vector unit's worth of work-items, so that the device's compiler can run them side by side.
  constexpr uint64_t kVector = 16;
  const uint64_t items = std::max<int64_t>(count, 1);
  const uint64_t preferred = cost == WorkItemCost::kElement ? 1024 : 64;
  const uint64_t limit = std::min<uint64_t>(preferred, target.max_work_group_size);
  if (cost == WorkItemCost::kElement && items <= limit) {
    // A launch of one work-item lets the CPU device reorder what the work-item does.
    const uint64_t padded = items < kVector ? kVector : items;
    return {{padded}, {padded}};
  }
  if (uint64_t local = DivisorUpTo(items, limit, std::min(kVector, limit))) return {{items}, {local}};
  const uint64_t local = items < limit ? kVector : limit;
  return {{(items + local - 1) / local * local}, {local}};
}

}  // namespace onexpu::compiler
