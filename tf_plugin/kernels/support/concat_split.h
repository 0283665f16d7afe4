// Concatenates buffers, and splits a buffer, element by element and regardless of their shapes.
#ifndef TF_PLUGIN_KERNELS_SUPPORT_CONCAT_SPLIT_H_
#define TF_PLUGIN_KERNELS_SUPPORT_CONCAT_SPLIT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"

namespace onexpu::tf_plugin {

// A buffer and its number of elements.
struct Piece {
  PJRT_Buffer* buffer;
  int64_t size;
};

// One buffer of `shape` with the elements of `pieces`, one after the other; none of them is empty.
// With more than one row: all first rows of the pieces, then all second ones, and so on.
absl::StatusOr<OwnedBuffer> ConcatPieces(const tensorflow::OpKernelContext& context,
                                         tensorflow::DataType type, absl::Span<const Piece> pieces,
                                         const tensorflow::TensorShape& shape, int64_t rows = 1);

// Buffers of `shapes` with the elements of `whole`, from its first one on.
absl::StatusOr<std::vector<OwnedBuffer>> SplitPieces(
    const tensorflow::OpKernelContext& context, tensorflow::DataType type, const Piece& whole,
    absl::Span<const tensorflow::TensorShape> shapes);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_KERNELS_SUPPORT_CONCAT_SPLIT_H_
