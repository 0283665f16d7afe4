// A kernel of one call site, launched directly through OpenCL.
//
// SYCL sets all arguments for every launch, and creates an event and a handler: 3.5 us for a kernel
// of eight arguments on the caller's queue (cpu_device/caller_queue.h). OpenCL takes 2.4 us, and
// 1.5 us if it reuses the arguments of the last launch (measured). The kernel is a clone, so no
// other code sets its arguments.
//
// One thread at a time: a call site's launches are made with its device's submission lock held.
#ifndef PJRT_CORE_OPENCL_DIRECT_KERNEL_H_
#define PJRT_CORE_OPENCL_DIRECT_KERNEL_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "CL/cl_ext.h"
#include "absl/container/inlined_vector.h"
#include "pjrt_core/opencl/handle.h"
#include "sycl/sycl.hpp"

namespace onexpu {

// Where launches go.
struct DirectQueue {
  cl_command_queue queue;
  // Another number than at the last launch: memory may have been freed in between. What OpenCL
  // knows of a pointer goes with its memory, also where the address comes back.
  uint64_t memory_epoch;
};

class DirectKernel {
 public:
  // Of OpenCL's backend. Throws sycl::exception, as all functions here.
  explicit DirectKernel(const sycl::kernel& kernel);

  // The pointers that follow are for one launch to `queue`.
  void Begin(const DirectQueue& queue) {
    if (queue.memory_epoch == memory_epoch_) return;
    memory_epoch_ = queue.memory_epoch;
    pointers_.clear();
  }
  // USM memory.
  void SetPointer(size_t index, void* address) {
    if (index < pointers_.size() && pointers_[index] == address) return;
    SetNewPointer(index, address);
  }
  void SetScalar(size_t index, const void* value, size_t size);

  // `local` is null where the driver chooses the work-groups.
  void Launch(const DirectQueue& queue, int dimensions, const size_t* global,
              const size_t* local) const;

 private:
  void SetNewPointer(size_t index, void* address);

  const ClKernel kernel_;
  const clSetKernelArgMemPointerINTEL_fn set_pointer_;
  uint64_t memory_epoch_ = 0;
  absl::InlinedVector<void*, 8> pointers_;  // as they are set
};

}  // namespace onexpu

#endif  // PJRT_CORE_OPENCL_DIRECT_KERNEL_H_
