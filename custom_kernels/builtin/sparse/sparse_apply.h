// XLA FFI handler of optimisers' updates of some rows. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_SPARSE_SPARSE_APPLY_H_
#define CUSTOM_KERNELS_BUILTIN_SPARSE_SPARSE_APPLY_H_

#include <string>
#include <vector>

#include "xla/ffi/api/c_api.h"

namespace onexpu {

// Operands: the variable [rows, ...], its slots (one or two of the same shape), the rule's scalars
// (of its type), gradients [n, ...] and indices [n] of rows in s32 or s64. Attributes: rule
// ('adagrad', 'adagrad_v2', 'proximal_adagrad', 'adadelta', 'ftrl', 'ftrl_v2' or 'keras_momentum'),
// flag: what the rule has of a boolean (update_slots, multiply_linear_by_lr, use_nesterov).
// Results: the variable and its slots, in the operands' memory or in other.
//
// Updates of one row follow one another in the order of their indices. Indices of no row are left
// out, as TensorFlow's accelerators do.
XLA_FFI_Error* SparseApplyHandler(XLA_FFI_CallFrame* frame);

// As numpy calls them.
std::vector<std::string> SparseApplyTypes();

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_SPARSE_SPARSE_APPLY_H_
