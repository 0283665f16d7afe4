// What the runtime does differently on the CPU device and on GPUs: one field per difference. Code
// asks for the difference that concerns it, never for the kind of device. Thread-safe: constants.
#ifndef PJRT_CORE_DEVICE_DEVICE_TRAITS_H_
#define PJRT_CORE_DEVICE_DEVICE_TRAITS_H_

#include <cstdint>

#include "sycl/sycl.hpp"

namespace onexpu {

struct DeviceTraits {
  const char* kind_prefix;  // of Device::kind
  const char* backend;      // the attribute of this name

  // ---- Memory ----

  // Arrays of the host that SYCL knows are used in place as device memory.
  bool uses_host_arrays_in_place;
  // Allocations are aligned to huge pages, and ask for them. Level Zero chooses the pages of its
  // own memory, and the Unified Runtime's first adapter for it (dg2, mtl, pvc and others) rejects
  // alignments above 64 KiB.
  bool has_huge_pages;
  // Copies between devices go through pinned memory that both can read: a queue that accesses
  // another device's memory blocks OpenCL forever.
  bool copies_to_peers_through_pinned_memory;

  // ---- Work ----

  // oneDNN's primitives and oneMKL's routines are SYCL host tasks (cpu_device/library_order.h).
  bool runs_libraries_in_host_tasks;
  // Small products are plain calls inside a kernel's place in the queue (cpu_device/host_call.h).
  bool calls_host_functions;
  // Small work runs on a queue of the calling thread (cpu_device/caller_queue.h).
  bool has_caller_queue;
  int64_t commands_per_batch;  // thunks/command_throttle.h
  // A kernel that uses many registers supports smaller work-groups than the device.
  bool kernels_limit_work_groups;
  bool may_hang;  // the kernel log of the host then has the reason
};

// The traits of a device. As cheap as sycl::device::is_cpu.
const DeviceTraits& TraitsOf(const sycl::device& device);

}  // namespace onexpu

#endif  // PJRT_CORE_DEVICE_DEVICE_TRAITS_H_
