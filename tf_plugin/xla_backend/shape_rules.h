// What shape functions of TensorFlow leave open, and translations end the process over or compute
// something else with; and what they say in other words than TensorFlow's CPU kernels.
#ifndef TF_PLUGIN_XLA_BACKEND_SHAPE_RULES_H_
#define TF_PLUGIN_XLA_BACKEND_SHAPE_RULES_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace onexpu::tf_plugin {

// INVALID_ARGUMENT if the operands' shapes break a rule for `op`, which runs before the op's own
// shape function.
absl::Status CheckShapeRules(absl::string_view op,
                             tensorflow::shape_inference::InferenceContext& shapes);

// What the shape function of `op` says, and where it refuses dimensions that do not match, the rule
// for all of them, in the words of the op's translation.
absl::Status WithRule(absl::string_view op, const absl::Status& said);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_XLA_BACKEND_SHAPE_RULES_H_
