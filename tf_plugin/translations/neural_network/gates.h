// What the cells of recurrent networks have in common: matrices of gates side by side, and slopes
// of their functions. Pure functions.
#ifndef TF_PLUGIN_TRANSLATIONS_NEURAL_NETWORK_GATES_H_
#define TF_PLUGIN_TRANSLATIONS_NEURAL_NETWORK_GATES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "xla/hlo/builder/xla_builder.h"

namespace onexpu::tf_plugin {

// `count` columns of a matrix; matrices of as many rows beside each other.
xla::XlaOp Columns(xla::XlaOp matrix, int64_t first, int64_t count);
xla::XlaOp SideBySide(absl::Span<const xla::XlaOp> matrices);

// With a vector on every row.
xla::XlaOp OnRows(xla::XlaOp matrix, xla::XlaOp vector);
xla::XlaOp TimesOnRows(xla::XlaOp matrix, xla::XlaOp vector);

// Derivatives by the argument, from the result.
xla::XlaOp SigmoidSlope(xla::XlaOp y);
xla::XlaOp TanhSlope(xla::XlaOp y);

// INVALID_ARGUMENT if an input has another rank.
absl::Status CheckRank(absl::string_view name, const tensorflow::TensorShape& shape, int rank);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_TRANSLATIONS_NEURAL_NETWORK_GATES_H_
