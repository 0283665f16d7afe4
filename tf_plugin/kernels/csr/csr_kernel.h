// What kernels of sparse matrices in compressed rows have in common.
#ifndef TF_PLUGIN_KERNELS_CSR_CSR_KERNEL_H_
#define TF_PLUGIN_KERNELS_CSR_CSR_KERNEL_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/types.h"
#include "tf_plugin/kernels/csr/csr_matrix.h"
#include "tf_plugin/kernels/support/launch.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"

namespace onexpu::tf_plugin {

// The types of their elements.
inline constexpr tensorflow::DataType kCsrTypes[] = {tensorflow::DT_FLOAT, tensorflow::DT_DOUBLE,
                                                     tensorflow::DT_COMPLEX64,
                                                     tensorflow::DT_COMPLEX128};

// "[2,3]", for errors.
std::string DescribeSizes(absl::Span<const int64_t> sizes);

// With the last two sizes exchanged.
std::vector<int64_t> TransposedSizes(std::vector<int64_t> sizes);

// The results of a launch that makes a matrix: row pointers, column indices and values of an upper
// bound of elements, and how many elements each batch has.
std::vector<ResultType> MatrixTypes(tensorflow::DataType type, absl::Span<const int64_t> shape,
                                    int64_t elements);

// The operands of a launch, list after list.
std::vector<PJRT_Buffer*> Borrow(std::initializer_list<absl::Span<const OwnedBuffer>> lists);

// The transposed matrix, or the adjoint one.
absl::StatusOr<CsrMatrix> TransposeMatrix(tensorflow::OpKernelContext* context,
                                          const CsrMatrix& matrix, bool conjugate);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_KERNELS_CSR_CSR_KERNEL_H_
