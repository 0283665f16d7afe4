#include "tf_plugin/kernels/csr/csr_matrix.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensorflow/core/framework/variant.h"
#include "tensorflow/core/framework/variant_op_registry.h"
#include "tensorflow/core/kernels/sparse/sparse_matrix.h"
#include "tensorflow/core/tfrt/common/async_value_tensor.h"
#include "tf_plugin/kernels/support/device_count.h"
#include "tf_plugin/kernels/support/ffi_attributes.h"
#include "tf_plugin/kernels/support/launch.h"
#include "tf_plugin/kernels/support/registration.h"
#include "tf_plugin/kernels/support/zero_buffer.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::CSRSparseMatrix;
using ::tensorflow::DataType;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;
using ::tensorflow::UnaryVariantOpRegistry;
using ::tensorflow::Variant;

using TensorCopy = UnaryVariantOpRegistry::AsyncTensorDeviceCopyFn;
using MatrixCopy = UnaryVariantOpRegistry::AsyncVariantDeviceCopyFn;

template <typename T>
std::vector<T> Numbers(const Tensor& tensor) {
  const auto values = tensor.vec<T>();
  return std::vector<T>(values.data(), values.data() + values.size());
}

template <typename T>
Tensor HostTensor(DataType type, const std::vector<T>& numbers) {
  Tensor tensor(tensorflow::cpu_allocator(), type,
                TensorShape({static_cast<int64_t>(numbers.size())}));
  std::copy(numbers.begin(), numbers.end(), tensor.vec<T>().data());
  return tensor;
}

// A tensor on XPU says so, unless it is empty.
bool IsOnXpu(const Tensor& tensor) {
  return tensor.NumElements() == 0 || tensorflow::AsyncValueTensor::FromTensor(&tensor) != nullptr;
}

// Copies of arrays are under way when `copy` returns; what reads them waits.
absl::Status ToDevice(const Variant& from, Variant* to, const TensorCopy& copy) {
  const CSRSparseMatrix* const host = from.get<CSRSparseMatrix>();
  if (host == nullptr || !host->valid()) {
    return absl::InvalidArgumentError("onexpu: the sparse matrix to be copied is not valid");
  }
  CsrMatrix matrix;
  matrix.shape = Numbers<int64_t>(host->dense_shape());
  matrix.batch_pointers = Numbers<int32_t>(host->batch_pointers());
  TF_RETURN_IF_ERROR(copy(host->row_pointers(), &matrix.row_pointers));
  TF_RETURN_IF_ERROR(copy(host->col_indices(), &matrix.column_indices));
  TF_RETURN_IF_ERROR(copy(host->values(), &matrix.values));
  if (!IsOnXpu(matrix.row_pointers)) {
    // Another accelerator in this process: its matrices are TensorFlow's.
    CSRSparseMatrix other;
    TF_RETURN_IF_ERROR(CSRSparseMatrix::CreateCSRSparseMatrix(
        host->dtype(), host->dense_shape(), host->batch_pointers(), matrix.row_pointers,
        matrix.column_indices, matrix.values, &other));
    *to = std::move(other);
    return absl::OkStatus();
  }
  *to = std::move(matrix);
  return absl::OkStatus();
}

absl::Status ToHost(const Variant& from, Variant* to, const TensorCopy& copy) {
  const CsrMatrix& matrix = *from.get<CsrMatrix>();
  Tensor row_pointers, column_indices, values;
  TF_RETURN_IF_ERROR(copy(matrix.row_pointers, &row_pointers));
  TF_RETURN_IF_ERROR(copy(matrix.column_indices, &column_indices));
  TF_RETURN_IF_ERROR(copy(matrix.values, &values));
  CSRSparseMatrix host;
  TF_RETURN_IF_ERROR(CSRSparseMatrix::CreateCSRSparseMatrix(
      matrix.dtype(), HostTensor(tensorflow::DT_INT64, matrix.shape),
      HostTensor(tensorflow::DT_INT32, matrix.batch_pointers), row_pointers, column_indices, values,
      &host));
  *to = std::move(host);
  return absl::OkStatus();
}

absl::Status BetweenDevices(const Variant& from, Variant* to, const TensorCopy& copy) {
  CsrMatrix matrix = *from.get<CsrMatrix>();
  const CsrMatrix source = matrix;
  TF_RETURN_IF_ERROR(copy(source.row_pointers, &matrix.row_pointers));
  TF_RETURN_IF_ERROR(copy(source.column_indices, &matrix.column_indices));
  TF_RETURN_IF_ERROR(copy(source.values, &matrix.values));
  *to = std::move(matrix);
  return absl::OkStatus();
}

// The first elements of an array: a view of it, which keeps all of its memory, or a copy if most of
// that would lie idle.
absl::StatusOr<Tensor> Beginning(OpKernelContext* context, DataType type, OwnedBuffer array,
                                 int64_t capacity, int64_t elements) {
  const TensorShape shape({elements});
  if (elements == 0) {
    TF_ASSIGN_OR_RETURN(OwnedBuffer none, UninitializedBuffer(*context, type, shape));
    return MakeTensor(context, type, shape, std::move(none));
  }
  if (elements >= capacity / 2) {
    TF_ASSIGN_OR_RETURN(OwnedBuffer view, ViewOf(array.get(), shape));
    return MakeTensor(context, type, shape, std::move(view));
  }
  FfiAttributes attributes;
  attributes.Add("first", int64_t{0});
  TF_ASSIGN_OR_RETURN(std::vector<OwnedBuffer> copy,
                      Launch(*context, "onexpu.copy_rows", {array.get()}, {ResultType{type, shape}},
                             attributes.Build()));
  return MakeTensor(context, type, shape, std::move(copy.front()));
}

}  // namespace

std::string CsrMatrix::DebugString() const {
  return absl::StrCat(kTypeName, "<", tensorflow::DataTypeString(dtype()), "[",
                      absl::StrJoin(shape, ","), "], ", elements(), " elements>");
}

void CsrMatrix::Encode(tensorflow::VariantTensorData* data) const {
  data->set_type_name(kTypeName);
}

bool CsrMatrix::Decode(const tensorflow::VariantTensorData& data) { return false; }

absl::Status CheckCsrShape(absl::Span<const int64_t> shape) {
  constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();
  const auto describe = [&] { return absl::StrCat("[", absl::StrJoin(shape, ","), "]"); };
  if (shape.size() != 2 && shape.size() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("A sparse matrix must have rank 2 or 3, got shape ", describe()));
  }
  if (std::any_of(shape.begin(), shape.end(), [](int64_t size) { return size < 0; })) {
    return absl::InvalidArgumentError(
        absl::StrCat("A sparse matrix has no negative sizes, got shape ", describe()));
  }
  const int64_t batches = shape.size() == 3 ? shape.front() : 1;
  const int64_t rows = shape[shape.size() - 2];
  if (batches >= kMaxInt32) {
    return absl::InvalidArgumentError(absl::StrCat(
        "dense_shape batch_size must be < Int32Max, but the input value is ", batches));
  }
  if (rows >= kMaxInt32 || batches * (rows + 1) > kMaxInt32) {
    return absl::InvalidArgumentError(
        absl::StrCat("The csr row index size, computed based on the dense_shape, must be <= "
                     "Int32Max, but is too large for shape ",
                     describe()));
  }
  if (shape.back() > kMaxInt32) {
    return absl::UnimplementedError(absl::StrCat("onexpu: a sparse matrix of shape ", describe(),
                                                 ": columns of 2^31 and above"));
  }
  return absl::OkStatus();
}

absl::StatusOr<const CsrMatrix*> InputMatrix(OpKernelContext* context, int index) {
  const Tensor& input = context->input(index);
  if (input.dims() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("Invalid input matrix: Shape must be rank 0 but is rank ", input.dims()));
  }
  const Variant& variant = input.scalar<Variant>()();
  const CsrMatrix* const matrix = variant.get<CsrMatrix>();
  if (matrix != nullptr) return matrix;
  return absl::InvalidArgumentError(
      absl::StrCat("Input ", index, " is no sparse matrix on XPU but ", variant.DebugString()));
}

absl::StatusOr<const CsrMatrix*> InputMatrix(OpKernelContext* context, int index, DataType type) {
  TF_ASSIGN_OR_RETURN(const CsrMatrix* matrix, InputMatrix(context, index));
  if (matrix->dtype() == type) return matrix;
  return absl::InvalidArgumentError(
      absl::StrCat("Expected a sparse matrix of type ", tensorflow::DataTypeString(type),
                   " as input ", index, " but saw ", tensorflow::DataTypeString(matrix->dtype())));
}

absl::Status OutputMatrix(OpKernelContext* context, CsrMatrix matrix) {
  Tensor* output = nullptr;
  tensorflow::AllocatorAttributes host;
  host.set_on_host(true);
  TF_RETURN_IF_ERROR(context->allocate_output(0, {}, &output, host));
  output->scalar<Variant>()() = std::move(matrix);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<OwnedBuffer>> BuffersOf(const OpKernelContext& context,
                                                   const CsrMatrix& matrix) {
  std::vector<OwnedBuffer> buffers;
  for (const Tensor* tensor : {&matrix.row_pointers, &matrix.column_indices, &matrix.values}) {
    TF_ASSIGN_OR_RETURN(buffers.emplace_back(), ViewOfTensor(context, *tensor, tensor->shape()));
  }
  return buffers;
}

absl::StatusOr<CsrMatrix> MatrixOf(OpKernelContext* context, DataType type,
                                   absl::Span<const int64_t> shape, absl::Span<OwnedBuffer> arrays,
                                   int64_t capacity, absl::Span<const int64_t> batch_sizes) {
  TF_RETURN_IF_ERROR(CheckCounts(*context, batch_sizes, capacity));
  CsrMatrix matrix;
  matrix.shape.assign(shape.begin(), shape.end());
  int64_t elements = 0;
  matrix.batch_pointers.push_back(0);
  for (const int64_t size : batch_sizes) {
    elements += size;
    if (elements > std::numeric_limits<int32_t>::max()) {
      return absl::UnimplementedError(absl::StrCat(
          "onexpu: ", context->op_kernel().type_string(), ": a sparse matrix of shape [",
          absl::StrJoin(shape, ","), "] with 2^31 elements or more"));
    }
    matrix.batch_pointers.push_back(static_cast<int32_t>(elements));
  }
  const TensorShape pointers({matrix.batches() * (matrix.rows() + 1)});
  TF_ASSIGN_OR_RETURN(matrix.row_pointers,
                      MakeTensor(context, tensorflow::DT_INT32, pointers, std::move(arrays[0])));
  TF_ASSIGN_OR_RETURN(matrix.column_indices, Beginning(context, tensorflow::DT_INT32,
                                                       std::move(arrays[1]), capacity, elements));
  TF_ASSIGN_OR_RETURN(matrix.values,
                      Beginning(context, type, std::move(arrays[2]), capacity, elements));
  return matrix;
}

absl::StatusOr<CsrMatrix> WithValues(OpKernelContext* context, const CsrMatrix& matrix,
                                     OwnedBuffer values) {
  CsrMatrix result = matrix;
  TF_ASSIGN_OR_RETURN(
      result.values, MakeTensor(context, matrix.dtype(), matrix.values.shape(), std::move(values)));
  return result;
}

absl::StatusOr<CsrMatrix> ZeroMatrix(OpKernelContext* context, DataType type,
                                     absl::Span<const int64_t> shape) {
  CsrMatrix matrix;
  matrix.shape.assign(shape.begin(), shape.end());
  matrix.batch_pointers.assign(matrix.batches() + 1, 0);
  const TensorShape pointers({matrix.batches() * (matrix.rows() + 1)}), none({0});
  OwnedBuffer zeros;
  if (pointers.num_elements() > 0) {
    TF_ASSIGN_OR_RETURN(zeros, ZeroBuffer(*context, tensorflow::DT_INT32, pointers));
  } else {
    TF_ASSIGN_OR_RETURN(zeros, UninitializedBuffer(*context, tensorflow::DT_INT32, pointers));
  }
  TF_ASSIGN_OR_RETURN(matrix.row_pointers,
                      MakeTensor(context, tensorflow::DT_INT32, pointers, std::move(zeros)));
  TF_ASSIGN_OR_RETURN(OwnedBuffer columns,
                      UninitializedBuffer(*context, tensorflow::DT_INT32, none));
  TF_ASSIGN_OR_RETURN(matrix.column_indices,
                      MakeTensor(context, tensorflow::DT_INT32, none, std::move(columns)));
  TF_ASSIGN_OR_RETURN(OwnedBuffer values, UninitializedBuffer(*context, type, none));
  TF_ASSIGN_OR_RETURN(matrix.values, MakeTensor(context, type, none, std::move(values)));
  return matrix;
}

void RegisterCsrMatrixCopies() {
  using tensorflow::TypeIndex;
  UnaryVariantOpRegistry* const registry = UnaryVariantOpRegistry::Global();
  const TypeIndex ours = TypeIndex::Make<CsrMatrix>();
  const TypeIndex theirs = TypeIndex::Make<CSRSparseMatrix>();
  registry->RegisterDeviceCopyFn(tensorflow::DEVICE_TO_HOST, ours, ToHost);
  registry->RegisterDeviceCopyFn(tensorflow::DEVICE_TO_DEVICE, ours, BetweenDevices);
  // TensorFlow's function makes its own matrix of tensors on the device, which ends the process.
  MatrixCopy* const to_device = registry->GetDeviceCopyFn(tensorflow::HOST_TO_DEVICE, theirs);
  if (to_device != nullptr) {
    *to_device = ToDevice;
  } else {
    registry->RegisterDeviceCopyFn(tensorflow::HOST_TO_DEVICE, theirs, ToDevice);
  }
}

}  // namespace onexpu::tf_plugin
