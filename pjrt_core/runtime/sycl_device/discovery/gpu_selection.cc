#include "pjrt_core/runtime/sycl_device/discovery/gpu_selection.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "pjrt_core/runtime/sycl_device/target_description.h"

namespace onexpu {
namespace {

using Description = std::vector<uint8_t>;

const program::TargetDescription& Read(const Description& description) {
  return *flatbuffers::GetRoot<program::TargetDescription>(description.data());
}

// Whether programs for either of two GPUs run on the other.
bool AreAlike(const Description& a, const Description& b) {
  return Read(a).name()->str() == Read(b).name()->str() && CheckTarget(Read(a), Read(b)).ok() &&
         CheckTarget(Read(b), Read(a)).ok();
}

// The order of preference between kinds of GPUs: the client uses the maximum.
std::tuple<bool, uint32_t> Rank(const sycl::device& gpu) {
  return {!gpu.has(sycl::aspect::ext_oneapi_is_integrated_gpu),
          gpu.get_info<sycl::info::device::max_compute_units>()};
}

}  // namespace

bool SelectsByOrdinal(absl::string_view selector) {
  bool selects = false;
  for (absl::string_view term : absl::StrSplit(selector, ';', absl::SkipWhitespace())) {
    term = absl::StripAsciiWhitespace(term);
    if (absl::StartsWith(term, "!")) continue;  // excludes devices
    const std::vector<absl::string_view> parts = absl::StrSplit(term, absl::MaxSplits(':', 1));
    const absl::string_view backend = absl::StripAsciiWhitespace(parts[0]);
    if (!absl::EqualsIgnoreCase(backend, "level_zero") && backend != "*") continue;
    if (parts.size() < 2) return false;
    for (absl::string_view device : absl::StrSplit(parts[1], ',')) {
      device = absl::StripAsciiWhitespace(device);
      if (device.empty() || !absl::ascii_isdigit(device.front())) return false;
    }
    selects = true;
  }
  return selects;
}

GpuSelection SelectGpus(const std::vector<sycl::device>& gpus) {
  GpuSelection selection;
  if (gpus.empty()) return selection;
  const auto best = std::max_element(
      gpus.begin(), gpus.end(),
      [](const sycl::device& a, const sycl::device& b) { return Rank(a) < Rank(b); });
  const Description kind = DescribeTarget(*best, ScheduleChoice::kAuto);
  for (const sycl::device& gpu : gpus) {
    if (AreAlike(DescribeTarget(gpu, ScheduleChoice::kAuto), kind)) {
      selection.devices.push_back(gpu);
    } else {
      selection.left_out.push_back(gpu.get_info<sycl::info::device::name>());
    }
  }
  return selection;
}

}  // namespace onexpu
