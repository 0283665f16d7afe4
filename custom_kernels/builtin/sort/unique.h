// XLA FFI handler of distinct elements. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_SORT_UNIQUE_H_
#define CUSTOM_KERNELS_BUILTIN_SORT_UNIQUE_H_

#include <string>
#include <vector>

#include "xla/ffi/api/c_api.h"

namespace onexpu {

// Operand: x [n], n > 0. Results: the distinct elements in order of first occurrence (n elements,
// of which the leading ones are set); for each element of x its index among them, [n] in s32 or
// s64; the count of each, [n] of the same type with the leading ones set, or [0] if not requested;
// and the number of distinct elements, s64 (pinned host). The zeros are equal, NaNs are not.
// UNIMPLEMENTED from 2^31 elements on.
XLA_FFI_Error* UniqueHandler(XLA_FFI_CallFrame* frame);

// As numpy calls them.
std::vector<std::string> UniqueTypes();

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_SORT_UNIQUE_H_
