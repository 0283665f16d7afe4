// Arguments of random ops: what their kernels and their translations check alike, in the words of
// TensorFlow's CPU kernels. Errors are INVALID_ARGUMENT.
#ifndef TF_PLUGIN_CORE_RANDOM_ARGUMENTS_H_
#define TF_PLUGIN_CORE_RANDOM_ARGUMENTS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"

namespace onexpu::tf_plugin {

// The shape of samples from categorical distributions, [rows, samples], for logits [rows, classes].
// An error for what is no matrix or has no classes, for a negative number of samples, and for rows
// or classes that 31 bits cannot count.
absl::StatusOr<tensorflow::TensorShape> CategoricalShape(const tensorflow::TensorShape& logits,
                                                         int64_t samples);

// From `low` up to `high`, which is not one of them; those of 64 bits without a sign have one here.
struct IntegerRange {
  int64_t low, high;
};

// An error if one of them is no scalar.
absl::Status CheckBoundShapes(const tensorflow::TensorShape& low,
                              const tensorflow::TensorShape& high);

// The range of two scalars of one type, int32, int64, uint32 or uint64, in host memory. An error if
// they are no scalars, or have no number between them.
absl::StatusOr<IntegerRange> IntegerRangeOf(const tensorflow::Tensor& low,
                                            const tensorflow::Tensor& high);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_CORE_RANDOM_ARGUMENTS_H_
