// XLA FFI handler of samples from categorical distributions. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_RANDOM_CATEGORICAL_H_
#define CUSTOM_KERNELS_BUILTIN_RANDOM_CATEGORICAL_H_

#include <string>
#include <vector>

#include "xla/ffi/api/c_api.h"

namespace onexpu {

// Operands: logits [rows, classes], classes > 0, and a stream as RandomHandler takes it, or none,
// for that of the attributes key, counter_low and counter_high, i64. Two words of the stream are
// each sample's, one row after the other, as a thread of TensorFlow's CPU kernel takes them.
// Result: classes [rows, samples] in s32 or s64. Logits that are not finite stand for classes that
// are never drawn; of a row without others `classes` is drawn.
XLA_FFI_Error* CategoricalHandler(XLA_FFI_CallFrame* frame);

// As numpy calls them.
std::vector<std::string> CategoricalTypes();

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_RANDOM_CATEGORICAL_H_
