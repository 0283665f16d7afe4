// Types that an op's definition allows and TensorFlow's kernels do not, or XLA's translation cannot
// read.
#ifndef TF_PLUGIN_XLA_BACKEND_TYPE_RULES_H_
#define TF_PLUGIN_XLA_BACKEND_TYPE_RULES_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/types.pb.h"

namespace onexpu::tf_plugin {

// INVALID_ARGUMENT, in the words of TensorFlow's CPU kernel, where `op` takes one precision and
// gives another.
absl::Status CheckTypeRules(absl::string_view op, const tensorflow::AttrSlice& attributes);

// Whether `op` is left to the CPU where this attribute is this type: XLA has to know an operand
// when it compiles, and does not read such numbers.
bool IsUnread(absl::string_view op, absl::string_view attribute, tensorflow::DataType type);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_XLA_BACKEND_TYPE_RULES_H_
