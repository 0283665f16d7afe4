// Declared shapes of a user's kernel ("*rows columns") that a graph could not check before it runs.
#ifndef TF_PLUGIN_CUSTOM_KERNEL_SHAPE_CONDITIONS_H_
#define TF_PLUGIN_CUSTOM_KERNEL_SHAPE_CONDITIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor_shape.h"

namespace onexpu::tf_plugin {

// The attributes of OnexpuDynamicKernel. Constant after Read; any thread.
class ShapeConditions {
 public:
  absl::Status Read(tensorflow::OpKernelConstruction* construction);

  // INVALID_ARGUMENT with the kernel, the operands and their shapes, in the words of
  // onexpu/_launch/shape_rules.py.
  absl::Status Check(absl::string_view kernel,
                     absl::Span<const tensorflow::TensorShape> operands) const;

 private:
  // A dimension of an operand that is factor * n + offset; without an operand a constant, `offset`.
  struct Size {
    int64_t operand, dimension, factor, offset;
  };
  // Both are of the same n.
  struct Condition {
    Size size, other;
  };

  std::vector<std::string> names_, declared_;  // of the operands
  std::vector<Condition> conditions_;
};

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_CUSTOM_KERNEL_SHAPE_CONDITIONS_H_
