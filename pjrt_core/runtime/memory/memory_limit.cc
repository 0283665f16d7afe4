#include "pjrt_core/runtime/memory/memory_limit.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "pjrt_core/device/device_traits.h"
#include "pjrt_core/runtime/memory/level_zero_memory.h"

namespace onexpu {
namespace {

// The shares that pools may hold. The rest is for other processes.
constexpr double kShareOfHost = 0.85;
constexpr double kShareOfGpu = 0.92;
constexpr double kPinnedShareOfHost = 0.5;

size_t Share(size_t bytes, double share) {
  return static_cast<size_t>(static_cast<double>(bytes) * share);
}

std::string Percent(double share) { return absl::StrCat(share * 100, " %"); }

}  // namespace

bool HasMemoryOfHost(const sycl::device& device) {
  return TraitsOf(device).uses_host_arrays_in_place ||
         device.has(sycl::aspect::ext_oneapi_is_integrated_gpu);
}

MemoryFacts AskMemory(const sycl::device& device, int devices_on_host) {
  MemoryFacts facts{.total = device.get_info<sycl::info::device::global_mem_size>(),
                    .is_of_host = HasMemoryOfHost(device),
                    .host = HostMemoryBytes(),
                    .devices_on_host = devices_on_host};
  // The host's free memory changes, so each allocation checks it instead.
  if (!facts.is_of_host) facts.free = FreeDeviceMemory(device);
  return facts;
}

MemoryLimit LimitOf(const MemoryFacts& facts, const MemoryChoice& choice) {
  MemoryLimit limit;
  const double share = choice.fraction.has_value() ? choice.fraction->share
                       : facts.is_of_host          ? kShareOfHost
                                                   : kShareOfGpu;
  if (facts.is_of_host) {
    limit.bytes = Share(std::min(facts.total, facts.host), share) / facts.devices_on_host;
    limit.source = absl::StrCat(Percent(share), " of the host's memory");
    if (facts.devices_on_host > 1) {
      absl::StrAppend(&limit.source, ", shared among ", facts.devices_on_host, " devices");
    }
  } else {
    limit.bytes = Share(facts.total, share);
    limit.source = absl::StrCat(Percent(share), " of the device's memory");
  }
  if (choice.fraction.has_value()) {
    absl::StrAppend(&limit.source, " (", choice.fraction->variable, ")");
    limit.remedy = absl::StrCat("raise ", choice.fraction->variable);
  }
  // A user who asks for more than the default share gets it of free memory, too.
  const double share_of_free = std::max(share, kShareOfGpu);
  if (facts.free.has_value() && Share(*facts.free, share_of_free) < limit.bytes) {
    limit = {.bytes = Share(*facts.free, share_of_free),
             .source = absl::StrCat(Percent(share_of_free), " of the ", *facts.free, " of ",
                                    facts.total, " bytes that were free at start-up"),
             .remedy = "end other processes that use the device"};
  }
  if (choice.bytes.has_value() && *choice.bytes < limit.bytes) {
    limit = {.bytes = *choice.bytes,
             .source = "set by ONEXPU_MEMORY_LIMIT",
             .remedy = "raise ONEXPU_MEMORY_LIMIT"};
  }
  return limit;
}

MemoryLimit PinnedLimit() {
  return {.bytes = Share(HostMemoryBytes(), kPinnedShareOfHost),
          .source = absl::StrCat(Percent(kPinnedShareOfHost), " of the host's memory")};
}

}  // namespace onexpu
