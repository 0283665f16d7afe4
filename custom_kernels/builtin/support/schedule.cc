#include "custom_kernels/builtin/support/schedule.h"

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

}  // namespace onexpu
