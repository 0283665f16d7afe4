#include "custom_kernels/builtin/shape/zeros.h"

#include "absl/status/status.h"
#include "custom_kernels/ffi_status.h"
#include "sycl/sycl.hpp"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

namespace ffi = ::xla::ffi;

XLA_FFI_Error* ZerosHandler(XLA_FFI_CallFrame* frame) {
  static const auto* const handler =
      ffi::Ffi::Bind()
          .Ctx<ffi::PlatformStream<sycl::queue*>>()
          .Ret<ffi::AnyBuffer>()
          .To([](sycl::queue* queue, ffi::Result<ffi::AnyBuffer> result) {
            // Of every type that there is, a zero is zero bytes.
            queue->memset(result->untyped_data(), 0, result->size_bytes());
            return ToFfiError(absl::OkStatus());
          })
          .release();
  return handler->Call(frame);
}

}  // namespace onexpu
