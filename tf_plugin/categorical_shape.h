// Samples from categorical distributions: what their kernel and their translation check alike.
#ifndef TF_PLUGIN_CATEGORICAL_SHAPE_H_
#define TF_PLUGIN_CATEGORICAL_SHAPE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "tensorflow/core/framework/tensor_shape.h"

namespace onexpu::tf_plugin {

// [rows, samples] for logits [rows, classes]. INVALID_ARGUMENT, in the words of TensorFlow's CPU
// kernels, of what is no matrix or has no classes, of a negative number of samples, and of rows or
// classes that 31 bits cannot count.
absl::StatusOr<tensorflow::TensorShape> CategoricalShape(const tensorflow::TensorShape& logits,
                                                         int64_t samples);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_CATEGORICAL_SHAPE_H_
