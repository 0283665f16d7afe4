// XLA FFI handlers that change the values of sparse matrices in compressed rows and leave their
// structure. For matrices and the attribute shape see csr_structure.h. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_CSR_CSR_VALUES_H_
#define CUSTOM_KERNELS_BUILTIN_CSR_CSR_VALUES_H_

#include <string>
#include <vector>

#include "xla/ffi/api/c_api.h"

namespace onexpu {

// The result of each: values [elements].

// Operands: a matrix; factors, [1] for all elements or [batches].
XLA_FFI_Error* CsrScaleHandler(XLA_FFI_CallFrame* frame);

// Operand: values, of a complex type. No attribute.
XLA_FFI_Error* CsrConjugateHandler(XLA_FFI_CallFrame* frame);

// Operands: a matrix. Elements that it does not have count as -infinity.
XLA_FFI_Error* CsrSoftmaxHandler(XLA_FFI_CallFrame* frame);

// Operands: a softmax, its gradient, which may have elements elsewhere; columns ascend in both.
XLA_FFI_Error* CsrSoftmaxGradHandler(XLA_FFI_CallFrame* frame);

// As numpy calls them.
std::vector<std::string> CsrConjugateTypes();
std::vector<std::string> CsrSoftmaxTypes();

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_CSR_CSR_VALUES_H_
