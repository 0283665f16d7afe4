// The XLA FFI handler that gathers slices of an array. Sizes come with the operands, so an array of
// another shape needs no compilation. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_SHAPE_GATHER_H_
#define CUSTOM_KERNELS_BUILTIN_SHAPE_GATHER_H_

#include "xla/ffi/api/c_api.h"

namespace onexpu {

// Attributes: `outer` and `slices`. Operands: an array of outer * slices slices of one size, and
// indices of s32 or s64. The result, of the array's type, has `outer` parts: the slices of this
// part of the array that the indices pick, zeros for an index that is out of range.
XLA_FFI_Error* GatherHandler(XLA_FFI_CallFrame* frame);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_SHAPE_GATHER_H_
