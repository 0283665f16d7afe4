#include "pjrt_core/cpu_device/caller_queue.h"

#include <string>

#include "CL/cl_ext.h"
#include "absl/strings/str_split.h"
#include "pjrt_core/device/device_traits.h"
#include "pjrt_core/opencl/handle.h"

namespace onexpu {
namespace {

constexpr char kExtension[] = "cl_intel_exec_by_local_thread";

bool HasExtension(cl_device_id device) {
  size_t size = 0;
  if (clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, 0, nullptr, &size) != CL_SUCCESS) return false;
  std::string names(size, '\0');
  if (clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, size, names.data(), nullptr) != CL_SUCCESS) {
    return false;
  }
  for (absl::string_view name : absl::StrSplit(names.c_str(), ' ')) {
    if (name == kExtension) return true;
  }
  return false;
}

}  // namespace

std::optional<CallerQueue> MakeCallerQueue(const sycl::context& context, const sycl::device& device,
                                           const sycl::async_handler& on_error) {
  if (context.get_backend() != sycl::backend::opencl || !TraitsOf(device).has_caller_queue) {
    return std::nullopt;
  }
  const ClContext cl(sycl::get_native<sycl::backend::opencl>(context));
  const ClDevice cl_device(sycl::get_native<sycl::backend::opencl>(device));
  if (!HasExtension(cl_device.get())) return std::nullopt;
  const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES,
                                            CL_QUEUE_THREAD_LOCAL_EXEC_ENABLE_INTEL, 0};
  cl_int status = CL_SUCCESS;
  cl_command_queue const queue =
      clCreateCommandQueueWithProperties(cl.get(), cl_device.get(), properties, &status);
  if (status != CL_SUCCESS) return std::nullopt;
  // The reference goes over: this SYCL takes none of its own, against its specification.
  return CallerQueue{sycl::make_queue<sycl::backend::opencl>(queue, context, on_error), queue};
}

}  // namespace onexpu
