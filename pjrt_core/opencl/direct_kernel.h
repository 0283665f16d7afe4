// A kernel of one call site, launched by OpenCL itself.
//
// SYCL sets all arguments for every launch, and makes an event and a handler of its own: 3.5 us for
// a kernel of eight arguments on the caller's queue (runtime/caller_queue.h), where OpenCL
// takes 2.4 and, with the arguments that it has from the last launch, 1.5 (measured). The kernel is
// a clone: nobody else sets its arguments.
//
// One thread at a time: a call site's launches are made with its device's submission lock held.
#ifndef PJRT_CORE_OPENCL_DIRECT_KERNEL_H_
#define PJRT_CORE_OPENCL_DIRECT_KERNEL_H_

#include <cstddef>
#include <memory>

#include "CL/cl_ext.h"
#include "absl/container/inlined_vector.h"
#include "pjrt_core/opencl/handle.h"
#include "sycl/sycl.hpp"

namespace onexpu {

class DirectKernel {
 public:
  // Of OpenCL's backend. Throws sycl::exception, as all functions here.
  explicit DirectKernel(const sycl::kernel& kernel);

  // USM memory.
  void SetPointer(size_t index, void* address) {
    if (index < pointers_.size() && pointers_[index] == address) return;
    SetNewPointer(index, address);
  }
  void SetScalar(size_t index, const void* value, size_t size);

  // `local` is null where the driver chooses the work-groups.
  void Launch(cl_command_queue queue, int dimensions, const size_t* global,
              const size_t* local) const;

 private:
  void SetNewPointer(size_t index, void* address);

  const ClKernel kernel_;
  const clSetKernelArgMemPointerINTEL_fn set_pointer_;
  absl::InlinedVector<void*, 8> pointers_;  // as they are set
};

}  // namespace onexpu

#endif  // PJRT_CORE_OPENCL_DIRECT_KERNEL_H_
