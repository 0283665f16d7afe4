// Calls functions of this process from a command of a CPU device's queue.
//
// A synchronous library call becomes an ordinary command: in queue order, on the device's own
// threads, in 3 us. The command is a kernel of one work-item that calls through a function address
// (SPV_INTEL_function_pointers). SYCL's own mechanism, a host task, costs 50 to 130 us between
// kernels (measured): the runtime takes it out of the device's queue and waits on both sides.
// OpenCL's clEnqueueNativeKernel is as cheap as this, but SYCL does not know of it: commands that
// SYCL holds back behind a host task would come after it.
//
// Thread-safe after creation. For devices of type CPU alone, whose threads are this process's.
#ifndef PJRT_CORE_CPU_DEVICE_HOST_CALL_H_
#define PJRT_CORE_CPU_DEVICE_HOST_CALL_H_

#include <array>
#include <cstdint>
#include <utility>

#include "absl/types/span.h"
#include "pjrt_core/device/command_trace.h"
#include "sycl/sycl.hpp"

namespace onexpu {

class HostCall {
 public:
  using Addresses = std::array<void*, 6>;
  // `object` and the addresses are those of Submit.
  using Function = void (*)(const void* object, void* a, void* b, void* c, void* d, void* e,
                            void* f);

  // The kernel, in SPIR-V, and its name in there.
  static absl::Span<const uint8_t> Module();
  static constexpr char kEntryPoint[] = "host_call";

  explicit HostCall(sycl::kernel kernel) : kernel_(std::move(kernel)) {}

  // `object` must live until the command has run; `function` must neither throw nor wait for the
  // queue. `trace` may be null. Throws sycl::exception.
  void Submit(sycl::queue& queue, RunTrace* trace, Function function, const void* object,
              const Addresses& addresses) const;

 private:
  const sycl::kernel kernel_;
};

}  // namespace onexpu

#endif  // PJRT_CORE_CPU_DEVICE_HOST_CALL_H_
