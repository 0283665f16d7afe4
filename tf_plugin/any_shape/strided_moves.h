// Which ops of TensorFlow only move elements, and from where to where. Plain values and pure
// functions.
#ifndef TF_PLUGIN_ANY_SHAPE_STRIDED_MOVES_H_
#define TF_PLUGIN_ANY_SHAPE_STRIDED_MOVES_H_

#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tf_plugin/kernels/support/strided_elements.h"

namespace onexpu::tf_plugin {

// An output of an op as elements of an operand at equal distances, or, if `writes`, the operand's
// elements at such places of the output, with zeros elsewhere.
struct StridedMove {
  int operand = 0;
  StridedElements elements;
  tensorflow::TensorShape output;
  bool writes = false;
};

// One for each output.
using StridedMoves = absl::InlinedVector<StridedMove, 1>;

// Nothing for operands that are an error, or of more dimensions than the kernels have. The operands
// and the outputs have elements.
using StridedMovesOf = std::optional<StridedMoves> (*)(const tensorflow::OpKernelContext& context);

// Null for other ops.
StridedMovesOf FindStridedMoves(absl::string_view op);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_ANY_SHAPE_STRIDED_MOVES_H_
