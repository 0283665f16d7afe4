// XLA FFI handler that makes arrays of zeros. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_SHAPE_ZEROS_H_
#define CUSTOM_KERNELS_BUILTIN_SHAPE_ZEROS_H_

#include "xla/ffi/api/c_api.h"

namespace onexpu {

// No operands, no attributes. Result: zeros of any type and shape.
XLA_FFI_Error* ZerosHandler(XLA_FFI_CallFrame* frame);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_SHAPE_ZEROS_H_
