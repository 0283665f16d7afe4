// The XLA FFI handler of reductions whose sizes are attributes, so that an array of another shape
// needs no compilation. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_REDUCTION_REDUCE_H_
#define CUSTOM_KERNELS_BUILTIN_REDUCTION_REDUCE_H_

#include <string>
#include <vector>

#include "xla/ffi/api/c_api.h"

namespace onexpu {

// Attributes: `rows`, `length`, `columns` and `combiner`, which is "sum", "mean", "prod", "min" or
// "max". The operand has rows * length * columns elements, at least one, and the result, of the
// same type, has rows * columns. NaN is the minimum and the maximum of all among which it is. Sums
// of f16 and bf16 are f32 until the end; of bool, the minimum is "all" and the maximum "any".
XLA_FFI_Error* ReduceHandler(XLA_FFI_CallFrame* frame);

std::vector<std::string> ReduceTypes();

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_REDUCTION_REDUCE_H_
