// XLA FFI handler that orders rows with NaN as TensorFlow's CPU kernel does. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_SORT_NAN_ORDER_H_
#define CUSTOM_KERNELS_BUILTIN_SORT_NAN_ORDER_H_

#include <string>
#include <vector>

#include "xla/ffi/api/ffi.h"

namespace onexpu {

// Operands: rows T[..., n]; s32[2], how many elements of a row count and how many results; the k
// largest elements of each row T[..., k] and their positions s32[..., k], NaN first. Results: the
// values and positions, updated in place: rows with NaN are reordered as TensorFlow's TopKV2 kernel
// for CPUs orders them, other rows are unchanged.
// INVALID_ARGUMENT for shapes that do not fit, UNIMPLEMENTED for other types.
XLA_FFI_Error* NanOrderHandler(XLA_FFI_CallFrame* frame);

std::vector<std::string> NanOrderTypes();

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_SORT_NAN_ORDER_H_
