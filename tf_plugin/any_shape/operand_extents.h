// The operands of a pointwise op as a resizable Program sees them (pjrt_core/program/program.fbs):
// matrices, rows, columns and single elements. Plain values and pure functions.
#ifndef TF_PLUGIN_ANY_SHAPE_OPERAND_EXTENTS_H_
#define TF_PLUGIN_ANY_SHAPE_OPERAND_EXTENTS_H_

#include <optional>
#include <string>

#include "absl/types/span.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tf_plugin/any_shape/pointwise_ops.h"

namespace onexpu::tf_plugin {

struct OperandExtents {
  // Nothing if a resizable Program is not for these operands: none of them has the result's shape,
  // rows are too short or arrays too large, or the shapes are an error.
  static std::optional<OperandExtents> Of(PointwiseOperands operands,
                                          absl::Span<const tensorflow::TensorShape> shapes);

  // One letter for each operand: 'w' for the whole of the result's shape, 'r' for a row of it, 'c'
  // for a column, 'e' for an element.
  std::string letters;
  tensorflow::TensorShape result;
};

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_ANY_SHAPE_OPERAND_EXTENTS_H_
