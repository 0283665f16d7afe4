// XLA FFI handler that counts values by bins. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_SORT_HISTOGRAM_H_
#define CUSTOM_KERNELS_BUILTIN_SORT_HISTOGRAM_H_

#include <string>
#include <vector>

#include "xla/ffi/api/ffi.h"

namespace onexpu {

// Operands: values T[n], edges T[bins - 1], which ascend: bin i + 1 begins at edges[i].
// Results: how many values each bin has s32 or s64[bins], how many are not a number s64[1].
// INVALID_ARGUMENT for shapes that do not fit, UNIMPLEMENTED for other types,
// RESOURCE_EXHAUSTED without memory.
XLA_FFI_Error* HistogramHandler(XLA_FFI_CallFrame* frame);

std::vector<std::string> HistogramTypes();

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_SORT_HISTOGRAM_H_
