// XLA FFI handlers that read and write elements at equal distances. Sizes are attributes, so a
// slice of another place or size, a transpose or a concatenation of another shape needs no
// compilation. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_SHAPE_STRIDED_SLICE_H_
#define CUSTOM_KERNELS_BUILTIN_SHAPE_STRIDED_SLICE_H_

#include "xla/ffi/api/c_api.h"

namespace onexpu {

// Attributes of both: `sizes` and `strides` of at most 8 dimensions, strides in elements and of any
// sign, and `offset`, the place of the first element.

// Operand and result of one type: the result, as an array of `sizes`, has at [i, j, ...] the
// operand's element offset + i * strides[0] + j * strides[1] + ... Several places may be the same.
XLA_FFI_Error* StridedSliceHandler(XLA_FFI_CallFrame* frame);

// The gradient: the operand's elements at these places of the result, and zeros elsewhere. No two
// places may be the same.
XLA_FFI_Error* StridedSliceGradHandler(XLA_FFI_CallFrame* frame);

// The operands' rows one after the other, in each of `rows` (attribute) rows of the result.
XLA_FFI_Error* ConcatenateHandler(XLA_FFI_CallFrame* frame);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_SHAPE_STRIDED_SLICE_H_
