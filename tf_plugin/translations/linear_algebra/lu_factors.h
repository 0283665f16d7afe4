// LU factorisations of batches of square matrices with partial pivoting.
#ifndef TF_PLUGIN_TRANSLATIONS_LINEAR_ALGEBRA_LU_FACTORS_H_
#define TF_PLUGIN_TRANSLATIONS_LINEAR_ALGEBRA_LU_FACTORS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/xla_data.pb.h"

namespace onexpu::tf_plugin {

// L below the diagonal and U on and above it, the row that each row was exchanged with, and the
// permutation, both s32[..., n]: row i of L U is row permutation[i] of the matrix.
struct Factors {
  xla::XlaOp lu, pivots, permutation;
};

// INVALID_ARGUMENT where `shape` is no square matrix or batch of them.
absl::Status CheckSquare(const tensorflow::TensorShape& shape);

// The dimensions of the batch and of a matrix's rows.
std::vector<int64_t> ShapeOfRows(const tensorflow::TensorShape& shape);

// The factors of `matrix`, by a custom call of the core. `type`: single or double precision, real
// or complex.
Factors Factorize(xla::XlaOp matrix, const tensorflow::TensorShape& shape, xla::PrimitiveType type);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_TRANSLATIONS_LINEAR_ALGEBRA_LU_FACTORS_H_
