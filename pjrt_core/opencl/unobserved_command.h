// Commands whose events are not observed.
//
// A command without an event is cheaper, because no event is created and released. The exception is
// Unified Runtime's first Level Zero adapter (SYCL 2026.1 uses it for dg2, mtl, arl and pvc). It
// uses a slot of an event pool for every command, and releases a slot only if the command returns
// its event. Otherwise memory grows by 370 bytes a launch, in pools that are never freed.
// Thread-safe.
#ifndef PJRT_CORE_OPENCL_UNOBSERVED_COMMAND_H_
#define PJRT_CORE_OPENCL_UNOBSERVED_COMMAND_H_

#include <cstddef>
#include <string>
#include <utility>

#include "sycl/sycl.hpp"

namespace onexpu {

// Whether commands of the queue's adapter keep their event slots unless they return the event.
inline bool KeepsUnreturnedEvents(const sycl::queue& queue) {
  if (queue.get_backend() != sycl::backend::ext_oneapi_level_zero) return false;
  // A process's GPUs are all behind one adapter.
  static const bool is_first_adapter = [&queue] {
    const std::string platform =
        queue.get_device().get_platform().get_info<sycl::info::platform::name>();
    return platform.find("Level-Zero V2") == std::string::npos;
  }();
  return is_first_adapter;
}

template <typename CommandGroup>
void SubmitUnobserved(sycl::queue& queue, CommandGroup&& group) {
  namespace syclex = sycl::ext::oneapi::experimental;
  if (KeepsUnreturnedEvents(queue)) {
    syclex::submit_with_event(queue, std::forward<CommandGroup>(group));
  } else {
    syclex::submit(queue, std::forward<CommandGroup>(group));
  }
}

inline void CopyUnobserved(sycl::queue& queue, void* destination, const void* source,
                           size_t bytes) {
  if (KeepsUnreturnedEvents(queue)) {
    queue.memcpy(destination, source, bytes);
  } else {
    sycl::ext::oneapi::experimental::memcpy(queue, destination, source, bytes);
  }
}

inline void SetUnobserved(sycl::queue& queue, void* destination, int value, size_t bytes) {
  if (KeepsUnreturnedEvents(queue)) {
    queue.memset(destination, value, bytes);
  } else {
    sycl::ext::oneapi::experimental::memset(queue, destination, value, bytes);
  }
}

}  // namespace onexpu

#endif  // PJRT_CORE_OPENCL_UNOBSERVED_COMMAND_H_
