// What the operands of pooling's gradients have to be: TensorFlow's shape functions and its
// translations to XLA take most shapes, and read past the end of what is too small.
#ifndef TF_PLUGIN_XLA_BACKEND_POOLING_SHAPE_RULES_H_
#define TF_PLUGIN_XLA_BACKEND_POOLING_SHAPE_RULES_H_

#include "absl/status/status.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace onexpu::tf_plugin {

// Operands: what was pooled, the result, the gradient of the result.
absl::Status MaxPoolGradShapes(tensorflow::shape_inference::InferenceContext& shapes);
// Operands: what was pooled, the result, the gradient of that gradient: of what was pooled.
absl::Status MaxPoolGradGradShapes(tensorflow::shape_inference::InferenceContext& shapes);
// Operands: what was pooled, the gradient of the result, the places of the maxima.
absl::Status ArgmaxGradShapes(tensorflow::shape_inference::InferenceContext& shapes);
// Operands: what was pooled, the gradient of that gradient, the places of the maxima.
absl::Status ArgmaxGradGradShapes(tensorflow::shape_inference::InferenceContext& shapes);
// Operands: the sizes of what was pooled, the gradient of the result.
absl::Status AvgPoolGradShapes(tensorflow::shape_inference::InferenceContext& shapes);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_XLA_BACKEND_POOLING_SHAPE_RULES_H_
