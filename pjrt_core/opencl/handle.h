// Handles of OpenCL that are released.
#ifndef PJRT_CORE_OPENCL_HANDLE_H_
#define PJRT_CORE_OPENCL_HANDLE_H_

#include <memory>
#include <type_traits>

#include "CL/cl.h"

namespace onexpu {

template <typename Handle, cl_int (*Release)(Handle)>
struct ClReleaser {
  void operator()(Handle handle) const { Release(handle); }
};
template <typename Handle, cl_int (*Release)(Handle)>
using ClOwner = std::unique_ptr<std::remove_pointer_t<Handle>, ClReleaser<Handle, Release>>;
using ClContext = ClOwner<cl_context, clReleaseContext>;
using ClDevice = ClOwner<cl_device_id, clReleaseDevice>;
using ClKernel = ClOwner<cl_kernel, clReleaseKernel>;
using ClProgram = ClOwner<cl_program, clReleaseProgram>;

}  // namespace onexpu

#endif  // PJRT_CORE_OPENCL_HANDLE_H_
