// Which ops of TensorFlow compute each element of their outputs by itself. Pure functions.
#ifndef TF_PLUGIN_ANY_SHAPE_POINTWISE_OPS_H_
#define TF_PLUGIN_ANY_SHAPE_POINTWISE_OPS_H_

#include <optional>

#include "absl/strings/string_view.h"

namespace onexpu::tf_plugin {

// What the operands of a pointwise op may be. Other operands are an error of some of these ops, so
// they go the way on which TensorFlow's translations check them.
enum class PointwiseOperands {
  kOfOneShape,
  kWithScalars,   // the operands after the first may be scalars
  kBroadcasting,  // as in numpy
  kBias,          // the second is a vector along the first one's last dimension
};

// Nothing for other ops.
std::optional<PointwiseOperands> PointwiseOperandsOf(absl::string_view op);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_ANY_SHAPE_POINTWISE_OPS_H_
