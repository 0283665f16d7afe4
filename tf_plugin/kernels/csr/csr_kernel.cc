#include "tf_plugin/kernels/csr/csr_kernel.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tf_plugin/kernels/support/ffi_attributes.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {

using ::tensorflow::DataType;
using ::tensorflow::OpKernelContext;
using ::tensorflow::TensorShape;

std::string DescribeSizes(absl::Span<const int64_t> sizes) {
  return absl::StrCat("[", absl::StrJoin(sizes, ","), "]");
}

std::vector<int64_t> TransposedSizes(std::vector<int64_t> sizes) {
  std::swap(sizes[sizes.size() - 2], sizes[sizes.size() - 1]);
  return sizes;
}

std::vector<ResultType> MatrixTypes(DataType type, absl::Span<const int64_t> shape,
                                    int64_t elements) {
  const int64_t batches = shape.size() == 3 ? shape[0] : 1;
  const TensorShape length({elements});
  return {{tensorflow::DT_INT32, TensorShape({batches * (shape[shape.size() - 2] + 1)})},
          {tensorflow::DT_INT32, length},
          {type, length},
          {tensorflow::DT_INT64, TensorShape({batches}), kOnexpuMemoryPinnedHost}};
}

std::vector<PJRT_Buffer*> Borrow(std::initializer_list<absl::Span<const OwnedBuffer>> lists) {
  std::vector<PJRT_Buffer*> buffers;
  for (const absl::Span<const OwnedBuffer> list : lists) {
    for (const OwnedBuffer& buffer : list) buffers.push_back(buffer.get());
  }
  return buffers;
}

absl::StatusOr<CsrMatrix> TransposeMatrix(OpKernelContext* context, const CsrMatrix& matrix,
                                          bool conjugate) {
  const std::vector<int64_t> shape = TransposedSizes(matrix.shape);
  TF_RETURN_IF_ERROR(CheckCsrShape(shape));
  if (matrix.elements() == 0) return ZeroMatrix(context, matrix.dtype(), shape);
  TF_ASSIGN_OR_RETURN(const std::vector<OwnedBuffer> arrays, BuffersOf(*context, matrix));
  FfiAttributes attributes;
  attributes.Add("shape", absl::MakeConstSpan(matrix.shape)).Add("conjugate", int64_t{conjugate});
  std::vector<ResultType> types = MatrixTypes(matrix.dtype(), shape, matrix.elements());
  types.pop_back();  // The numbers are known.
  TF_ASSIGN_OR_RETURN(
      std::vector<OwnedBuffer> transposed,
      Launch(*context, "onexpu.csr_transpose", Borrow({arrays}), types, attributes.Build()));
  std::vector<int64_t> batch_sizes;
  for (int64_t batch = 0; batch < matrix.batches(); ++batch) {
    batch_sizes.push_back(matrix.batch_pointers[batch + 1] - matrix.batch_pointers[batch]);
  }
  return MatrixOf(context, matrix.dtype(), shape, absl::MakeSpan(transposed), matrix.elements(),
                  batch_sizes);
}

}  // namespace onexpu::tf_plugin
