#include "pjrt_core/opencl/direct_kernel.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace onexpu {
namespace {

void Check(cl_int status, const char* function) {
  if (status == CL_SUCCESS) return;
  const bool is_memory =
      status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == CL_OUT_OF_RESOURCES;
  throw sycl::exception(is_memory ? sycl::errc::memory_allocation : sycl::errc::runtime,
                        absl::StrCat(function, " of OpenCL: error ", status));
}

ClKernel Clone(const sycl::kernel& kernel) {
  const ClKernel original(sycl::get_native<sycl::backend::opencl>(kernel));
  cl_int status = CL_SUCCESS;
  ClKernel clone(clCloneKernel(original.get(), &status));
  Check(status, "clCloneKernel");
  return clone;
}

clSetKernelArgMemPointerINTEL_fn SetPointerFunction(const sycl::kernel& kernel) {
  const sycl::device device = kernel.get_context().get_devices().front();
  cl_platform_id const platform = sycl::get_native<sycl::backend::opencl>(device.get_platform());
  void* const function =
      clGetExtensionFunctionAddressForPlatform(platform, "clSetKernelArgMemPointerINTEL");
  if (function == nullptr) Check(CL_INVALID_OPERATION, "clSetKernelArgMemPointerINTEL");
  return reinterpret_cast<clSetKernelArgMemPointerINTEL_fn>(function);
}

}  // namespace

DirectKernel::DirectKernel(const sycl::kernel& kernel)
    : kernel_(Clone(kernel)), set_pointer_(SetPointerFunction(kernel)) {}

void DirectKernel::SetNewPointer(size_t index, void* address) {
  Check(set_pointer_(kernel_.get(), static_cast<cl_uint>(index), address),
        "clSetKernelArgMemPointerINTEL");
  if (index >= pointers_.size()) pointers_.resize(index + 1, nullptr);
  pointers_[index] = address;
}

void DirectKernel::SetScalar(size_t index, const void* value, size_t size) {
  Check(clSetKernelArg(kernel_.get(), static_cast<cl_uint>(index), size, value), "clSetKernelArg");
}

void DirectKernel::Launch(const DirectQueue& queue, int dimensions, const size_t* global,
                          const size_t* local) const {
  // SYCL's first dimension is the slowest, OpenCL's the fastest.
  size_t sizes[3], groups[3];
  std::reverse_copy(global, global + dimensions, sizes);
  if (local != nullptr) std::reverse_copy(local, local + dimensions, groups);
  Check(
      clEnqueueNDRangeKernel(queue.queue, kernel_.get(), static_cast<cl_uint>(dimensions), nullptr,
                             sizes, local == nullptr ? nullptr : groups, 0, nullptr, nullptr),
      "clEnqueueNDRangeKernel");
}

}  // namespace onexpu
