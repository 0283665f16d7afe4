// The XLA FFI handler that finds the largest or smallest elements along a dimension, whose sizes
// are attributes, so that an array of another shape needs no compilation. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_REDUCTION_ARG_EXTREME_H_
#define CUSTOM_KERNELS_BUILTIN_REDUCTION_ARG_EXTREME_H_

#include <string>
#include <vector>

#include "xla/ffi/api/c_api.h"

namespace onexpu {

// Attributes: `rows`, `length` and `columns`, all at least 1, and `extreme`, which is "max" or
// "min". The operand has rows * length * columns elements. The result, s32 or s64, has rows *
// columns: the first place of the extreme in each column. NaN is no extreme, and neither is the
// infinity at the other end; a column of nothing else has 0.
XLA_FFI_Error* ArgExtremeHandler(XLA_FFI_CallFrame* frame);

std::vector<std::string> ArgExtremeTypes();

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_REDUCTION_ARG_EXTREME_H_
