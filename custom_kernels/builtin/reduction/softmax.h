// XLA FFI handlers of functions of the exponentials of rows. Sizes come with the operands, so an
// array of another shape needs no compilation. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_REDUCTION_SOFTMAX_H_
#define CUSTOM_KERNELS_BUILTIN_REDUCTION_SOFTMAX_H_

#include <string>
#include <vector>

#include "xla/ffi/api/c_api.h"

namespace onexpu {

// The operand, of any rank but 0, and the result have one shape and one floating-point type; rows
// are the last dimension. Numbers of 16 bits are computed as f32.
XLA_FFI_Error* SoftmaxHandler(XLA_FFI_CallFrame* frame);
XLA_FFI_Error* LogSoftmaxHandler(XLA_FFI_CallFrame* frame);

// Operands: logits [rows, columns], labels of s32 or s64 [rows]. Results: the cross-entropy of each
// row [rows], and its gradient by the logits. Both are NaN for a label that is no column.
XLA_FFI_Error* SparseCrossEntropyHandler(XLA_FFI_CallFrame* frame);

std::vector<std::string> SoftmaxTypes();

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_REDUCTION_SOFTMAX_H_
