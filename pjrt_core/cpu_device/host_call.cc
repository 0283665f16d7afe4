#include "pjrt_core/cpu_device/host_call.h"

namespace onexpu {
namespace {

constexpr uint8_t kModule[] = {
#include "pjrt_core/cpu_device/host_call_module.inc"
};

uint64_t Bits(const void* address) { return reinterpret_cast<uint64_t>(address); }

}  // namespace

absl::Span<const uint8_t> HostCall::Module() { return kModule; }

void HostCall::Submit(sycl::queue& queue, RunTrace* trace, Function function, const void* object,
                      const Addresses& addresses) const {
  const auto& [a, b, c, d, e, f] = addresses;
  SubmitCommand(queue, trace, [&](sycl::handler& handler) {
    handler.set_args(reinterpret_cast<uint64_t>(function), Bits(object), Bits(a), Bits(b), Bits(c),
                     Bits(d), Bits(e), Bits(f));
    handler.single_task(kernel_);
  });
}

}  // namespace onexpu
