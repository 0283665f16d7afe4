#include "tf_plugin/kernels/tensor_list/tensor_pieces.h"

#include <utility>

#include "tf_plugin/kernels/support/concat_split.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "tf_plugin/kernels/support/zero_buffer.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {

using ::tensorflow::DataType;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

namespace {

absl::StatusOr<std::vector<Tensor>> CutInto(OpKernelContext* context, const Tensor& tensor,
                                            absl::Span<const TensorShape> shapes) {
  PJRT_Buffer* buffer = nullptr;
  if (tensor.NumElements() > 0) {
    TF_ASSIGN_OR_RETURN(buffer, BufferOf(tensor));
  }
  TF_ASSIGN_OR_RETURN(
      std::vector<OwnedBuffer> pieces,
      SplitPieces(*context, tensor.dtype(), {buffer, tensor.NumElements()}, shapes));
  std::vector<Tensor> tensors;
  tensors.reserve(pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) {
    TF_ASSIGN_OR_RETURN(Tensor piece,
                        MakeTensor(context, tensor.dtype(), shapes[i], std::move(pieces[i])));
    tensors.push_back(std::move(piece));
  }
  return tensors;
}

TensorShape RowShape(const Tensor& tensor) {
  TensorShape row = tensor.shape();
  row.RemoveDim(0);
  return row;
}

}  // namespace

absl::StatusOr<std::vector<Tensor>> CutRows(OpKernelContext* context, const Tensor& tensor,
                                            absl::Span<const int64_t> lengths) {
  std::vector<TensorShape> shapes(lengths.size(), RowShape(tensor));
  for (size_t i = 0; i < lengths.size(); ++i) {
    TF_RETURN_IF_ERROR(shapes[i].InsertDimWithStatus(0, lengths[i]));
  }
  return CutInto(context, tensor, shapes);
}

absl::StatusOr<std::vector<Tensor>> CutIntoRows(OpKernelContext* context, const Tensor& tensor) {
  return CutInto(context, tensor, std::vector<TensorShape>(tensor.dim_size(0), RowShape(tensor)));
}

absl::Status OutputJoined(OpKernelContext* context, int index, DataType type,
                          absl::Span<const Tensor* const> elements,
                          absl::Span<const TensorShape> shapes, const TensorShape& shape) {
  if (shape.num_elements() == 0) {
    TF_ASSIGN_OR_RETURN(OwnedBuffer empty, UninitializedBuffer(*context, type, shape));
    return SetOutput(context, index, shape, std::move(empty));
  }
  std::vector<OwnedBuffer> zeros;
  std::vector<Piece> pieces;
  for (size_t i = 0; i < elements.size(); ++i) {
    const int64_t size = shapes[i].num_elements();
    if (size == 0) continue;
    PJRT_Buffer* buffer = nullptr;
    if (IsSet(*elements[i])) {
      TF_ASSIGN_OR_RETURN(buffer, BufferOf(*elements[i]));
    } else {
      TF_ASSIGN_OR_RETURN(OwnedBuffer zero, ZeroBuffer(*context, type, shapes[i]));
      buffer = zero.get();
      zeros.push_back(std::move(zero));
    }
    pieces.push_back({buffer, size});
  }
  TF_ASSIGN_OR_RETURN(OwnedBuffer joined, ConcatPieces(*context, type, pieces, shape));
  return SetOutput(context, index, shape, std::move(joined));
}

}  // namespace onexpu::tf_plugin
