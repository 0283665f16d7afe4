#include "pjrt_core/device/library_errors.h"

#include <exception>
#include <new>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "oneapi/mkl/exceptions.hpp"
#include "sycl/sycl.hpp"

namespace onexpu {
namespace {

constexpr absl::string_view kDeviceLost = "device lost: ";
// Of errors that are known already.
constexpr absl::string_view kKnownLost = "device is lost: ";

// A runtime error's code says little; the text of the Unified Runtime's result says which it was.
absl::Status FromRuntimeText(absl::string_view message) {
  if (absl::StrContains(message, "DEVICE_LOST") ||
      absl::StrContains(message, "DEVICE_NOT_AVAILABLE")) {
    return absl::AbortedError(absl::StrCat("onexpu: ", kDeviceLost, message));
  }
  if (absl::StrContains(message, "OUT_OF_DEVICE_MEMORY") ||
      absl::StrContains(message, "OUT_OF_HOST_MEMORY") ||
      absl::StrContains(message, "OUT_OF_RESOURCES") ||
      absl::StrContains(message, "MEM_OBJECT_ALLOCATION_FAILURE")) {
    return absl::ResourceExhaustedError(absl::StrCat("onexpu: SYCL: ", message));
  }
  if (absl::StrContains(message, "UNSUPPORTED_FEATURE")) {
    return absl::UnimplementedError(absl::StrCat("onexpu: SYCL: ", message));
  }
  // CL_DEVICE_NOT_FOUND, on a GPU of Level Zero: oneMKL builds kernels of its FFT in OpenCL C.
  if (absl::EndsWith(message, "OpenCL error -1")) {
    return absl::FailedPreconditionError(absl::StrCat(
        "onexpu: oneMKL found no OpenCL driver for the GPU, which it builds FFT kernels with (",
        message,
        "). Install intel-opencl-icd and ocloc (Debian, Ubuntu) or intel-opencl (Fedora)."));
  }
  return absl::InternalError(absl::StrCat("onexpu: SYCL: ", message));
}

absl::Status FromSycl(const sycl::exception& error) {
  const absl::string_view message = error.what();
  if (error.code().category() != sycl::sycl_category()) return FromRuntimeText(message);
  switch (static_cast<sycl::errc>(error.code().value())) {
    case sycl::errc::memory_allocation:
      return absl::ResourceExhaustedError(absl::StrCat("onexpu: SYCL: ", message));
    case sycl::errc::invalid:
    case sycl::errc::nd_range:
    case sycl::errc::kernel_argument:
      return absl::InvalidArgumentError(absl::StrCat("onexpu: SYCL: ", message));
    case sycl::errc::feature_not_supported:
    case sycl::errc::kernel_not_supported:
      return absl::UnimplementedError(absl::StrCat("onexpu: SYCL: ", message));
    default:
      return FromRuntimeText(message);
  }
}

absl::Status FromDnnl(const dnnl::error& error) {
  const std::string message = absl::StrCat("onexpu: oneDNN: ", error.what());
  switch (error.status) {
    case dnnl_out_of_memory:
      return absl::ResourceExhaustedError(message);
    case dnnl_invalid_arguments:
    case dnnl_invalid_shape:
    case dnnl_invalid_data_type:
      return absl::InvalidArgumentError(message);
    case dnnl_unimplemented:
      return absl::UnimplementedError(message);
    default:
      return absl::InternalError(message);
  }
}

}  // namespace

bool IsDeviceLost(const absl::Status& status) {
  return absl::IsAborted(status) && absl::StrContains(status.message(), kDeviceLost) &&
         !absl::StrContains(status.message(), kKnownLost);
}

absl::Status ErrorOfAnotherDevice(const absl::Status& status) {
  if (!IsDeviceLost(status)) return status;
  return absl::AbortedError(absl::StrCat("onexpu: another ", kKnownLost, status.message()));
}

absl::Status CurrentLibraryError() {
  try {
    throw;
  } catch (const sycl::exception& error) {
    return FromSycl(error);
  } catch (const dnnl::error& error) {
    return FromDnnl(error);
  } catch (const oneapi::mkl::device_bad_alloc& error) {
    return absl::ResourceExhaustedError(absl::StrCat("onexpu: oneMKL: ", error.what()));
  } catch (const oneapi::mkl::host_bad_alloc& error) {
    return absl::ResourceExhaustedError(absl::StrCat("onexpu: oneMKL: ", error.what()));
  } catch (const oneapi::mkl::invalid_argument& error) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: oneMKL: ", error.what()));
  } catch (const oneapi::mkl::unsupported_device& error) {
    return absl::UnimplementedError(absl::StrCat("onexpu: oneMKL: ", error.what()));
  } catch (const oneapi::mkl::unimplemented& error) {
    return absl::UnimplementedError(absl::StrCat("onexpu: oneMKL: ", error.what()));
  } catch (const oneapi::mkl::exception& error) {
    return absl::InternalError(absl::StrCat("onexpu: oneMKL: ", error.what()));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("onexpu: out of host memory");
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("onexpu: ", error.what()));
  } catch (...) {
    return absl::InternalError("onexpu: unknown exception (not a std::exception)");
  }
}

}  // namespace onexpu
