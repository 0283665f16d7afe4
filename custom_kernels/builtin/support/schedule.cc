#include "custom_kernels/builtin/support/schedule.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace onexpu {

bool HasCpuSchedules(const sycl::queue& queue) {
  static const absl::string_view wanted = [] {
    const char* const value = std::getenv("ONEXPU_SCHEDULES");
    return absl::string_view(value == nullptr ? "" : value);
  }();
  if (absl::EqualsIgnoreCase(wanted, "gpu")) return false;
  if (absl::EqualsIgnoreCase(wanted, "cpu")) return true;
  return queue.get_device().is_cpu();
}

int64_t RowsPerWorkItem(const sycl::queue& queue, int64_t columns) {
  constexpr int64_t kElementsPerWorkItem = 4096;
  return HasCpuSchedules(queue)
             ? std::max<int64_t>(1, kElementsPerWorkItem / std::max<int64_t>(1, columns))
             : 1;
}

int64_t ColumnsPerWorkItem(const sycl::queue& queue, int64_t columns) {
  return HasCpuSchedules(queue) ? std::max<int64_t>(1, columns) : 1;
}

}  // namespace onexpu
