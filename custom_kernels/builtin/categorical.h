// XLA FFI handler of samples from categorical distributions. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_CATEGORICAL_H_
#define CUSTOM_KERNELS_BUILTIN_CATEGORICAL_H_

#include <string>
#include <vector>

#include "xla/ffi/api/c_api.h"

namespace onexpu {

// Operand: logits [rows, classes], classes > 0. Attributes key, counter_low and counter_high, i64:
// a Philox stream, of which a block is taken for every four samples of a row. Result: classes
// [rows, samples] in s32 or s64. Logits that are not finite stand for classes that are never drawn;
// of a row without others `classes` is drawn.
XLA_FFI_Error* CategoricalHandler(XLA_FFI_CallFrame* frame);

// As numpy calls them.
std::vector<std::string> CategoricalTypes();

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_CATEGORICAL_H_
