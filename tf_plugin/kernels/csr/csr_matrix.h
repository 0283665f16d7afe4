// Sparse matrices in compressed rows on XPU: what the DT_VARIANT tensors of TensorFlow's
// SparseMatrix ops hold there, and how kernels take and give them.
//
// TensorFlow's class for such matrices, CSRSparseMatrix, takes the addresses of its tensors'
// elements when it is made; tensors on XPU have none, and TensorFlow ends the process. So matrices
// on XPU are of a class of their own. Copies to and from the host turn one into the other.
//
// A matrix does not change once it is made. Every function may be called from any thread.
#ifndef TF_PLUGIN_KERNELS_CSR_CSR_MATRIX_H_
#define TF_PLUGIN_KERNELS_CSR_CSR_MATRIX_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/variant_tensor_data.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"

namespace onexpu::tf_plugin {

struct CsrMatrix {
  static constexpr char kTypeName[] = "onexpu::CsrMatrix";

  std::vector<int64_t> shape;           // [rows, columns] or [batches, rows, columns]
  std::vector<int32_t> batch_pointers;  // [batches + 1]: where the elements of each begin
  // On the device:
  tensorflow::Tensor row_pointers;    // int32[batches * (rows + 1)], from 0 on in each batch
  tensorflow::Tensor column_indices;  // int32[elements]
  tensorflow::Tensor values;          // [elements]

  tensorflow::DataType dtype() const { return values.dtype(); }
  int rank() const { return static_cast<int>(shape.size()); }
  int64_t batches() const { return rank() == 3 ? shape[0] : 1; }
  int64_t rows() const { return shape[rank() - 2]; }
  int64_t columns() const { return shape[rank() - 1]; }
  int64_t elements() const { return values.NumElements(); }
  tensorflow::TensorShape tensor_shape() const { return tensorflow::TensorShape(shape); }

  // What Variant asks of its contents. Tensors on the device have no serialised form, and
  // TensorFlow serialises copies on the host.
  std::string TypeName() const { return kTypeName; }
  std::string DebugString() const;
  void Encode(tensorflow::VariantTensorData* data) const;
  bool Decode(const tensorflow::VariantTensorData& data);
};

// Whether TensorFlow's matrices can have the shape: INVALID_ARGUMENT unless it has rank 2 or 3 and
// sizes for which 32-bit row pointers suffice, UNIMPLEMENTED for columns that 32 bits do not
// number.
absl::Status CheckCsrShape(absl::Span<const int64_t> shape);

// The matrix of an input; INVALID_ARGUMENT for another one.
absl::StatusOr<const CsrMatrix*> InputMatrix(tensorflow::OpKernelContext* context, int index);
absl::StatusOr<const CsrMatrix*> InputMatrix(tensorflow::OpKernelContext* context, int index,
                                             tensorflow::DataType type);

// Makes output 0 this matrix.
absl::Status OutputMatrix(tensorflow::OpKernelContext* context, CsrMatrix matrix);

// The three arrays, as a launch wants them.
absl::StatusOr<std::vector<OwnedBuffer>> BuffersOf(const tensorflow::OpKernelContext& context,
                                                   const CsrMatrix& matrix);

// What a launch made: row pointers, column indices and values, and how many elements each batch
// has. The arrays have room for `capacity` elements and are filled from the beginning.
absl::StatusOr<CsrMatrix> MatrixOf(tensorflow::OpKernelContext* context, tensorflow::DataType type,
                                   absl::Span<const int64_t> shape, absl::Span<OwnedBuffer> arrays,
                                   int64_t capacity, absl::Span<const int64_t> batch_sizes);

// `matrix` with other values of its type.
absl::StatusOr<CsrMatrix> WithValues(tensorflow::OpKernelContext* context, const CsrMatrix& matrix,
                                     OwnedBuffer values);

// A matrix without elements.
absl::StatusOr<CsrMatrix> ZeroMatrix(tensorflow::OpKernelContext* context,
                                     tensorflow::DataType type, absl::Span<const int64_t> shape);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_KERNELS_CSR_CSR_MATRIX_H_
