// Operands with dynamic dimensions, whose size is known only at run time.
#ifndef TF_PLUGIN_XLA_BACKEND_DYNAMIC_OPERANDS_H_
#define TF_PLUGIN_XLA_BACKEND_DYNAMIC_OPERANDS_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"
#include "xla/shape.h"

namespace onexpu::tf_plugin {

// The shape that XLA knows of an operand, if it has a dynamic dimension.
std::optional<xla::Shape> DynamicShape(const tensorflow::Tensor& tensor);

// The shape of an operand, with the upper bounds of dynamic dimensions; empty if it is not an
// array.
std::optional<xla::Shape> BoundedShape(const tensorflow::Tensor& tensor);

// The diagonals of MatrixDiagPart, MatrixSetDiag and their later versions; empty if the program
// computes them.
struct DiagonalRange {
  int64_t lower, upper;
};
std::optional<DiagonalRange> ReadDiagonals(tensorflow::OpKernelContext& context);

// UNIMPLEMENTED: the size of this dimension of this operand is unknown.
absl::Status UnknownSize(tensorflow::OpKernelContext& context, int operand, const xla::Shape& shape,
                         int64_t dimension);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_XLA_BACKEND_DYNAMIC_OPERANDS_H_
