#include "custom_kernels/builtin/shape/zeros.h"

#include "absl/status/status.h"
#include "custom_kernels/builtin/support/call_handler.h"
#include "sycl/sycl.hpp"
#include "xla/ffi/api/ffi.h"

namespace onexpu {
namespace {

namespace ffi = ::xla::ffi;

// Of every type that there is, a zero is zero bytes.
absl::Status Clear(sycl::queue& queue, const ffi::AnyBuffer& result) {
  queue.memset(result.untyped_data(), 0, result.size_bytes());
  return absl::OkStatus();
}

}  // namespace

XLA_FFI_Error* ZerosHandler(XLA_FFI_CallFrame* frame) { return CallHandler<Clear, 1>(frame); }

}  // namespace onexpu
