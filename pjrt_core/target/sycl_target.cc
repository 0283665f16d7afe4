#include "pjrt_core/target/sycl_target.h"

#include <optional>

namespace onexpu {
namespace {

namespace syclex = sycl::ext::oneapi::experimental;

// SYCL's enumerators of Intel GPUs are the IP version (architecture: 10 bits, release: 8 bits, 8
// reserved bits, revision: 6 bits) and 8 bits of zeros.
std::optional<IpVersion> IpVersionOf(const sycl::device& gpu) {
  try {
    const auto architecture =
        static_cast<uint64_t>(gpu.get_info<syclex::info::device::architecture>());
    const auto version = static_cast<uint32_t>(architecture >> 8);
    return IpVersion{version >> 22, (version >> 14) & 0xff};
  } catch (const sycl::exception&) {  // an architecture that this SYCL does not know
    return std::nullopt;
  }
}

}  // namespace

const KnownTarget* FindKnownTarget(const sycl::device& device) {
  if (!device.is_gpu()) return FindKnownTarget("cpu");
  const std::optional<IpVersion> version = IpVersionOf(device);
  return version.has_value() ? FindKnownTarget(*version) : nullptr;
}

Fp64 Fp64Of(const sycl::device& device) {
  if (!device.has(sycl::aspect::fp64)) return Fp64::kNone;
  const KnownTarget* const target = FindKnownTarget(device);
  return target == nullptr ? Fp64::kNative : target->fp64;
}

}  // namespace onexpu
