#include "custom_kernels/builtin/csr/csr_structure.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "custom_kernels/builtin/sort/counting_sort.h"
#include "custom_kernels/builtin/support/call_handler.h"
#include "custom_kernels/builtin/support/chunks.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/builtin/support/schedule.h"
#include "custom_kernels/launch_kernel.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> CsrStructureKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

using Shape = ffi::Span<const int64_t>;

SpirvModule& Module(absl::string_view label) {
  return *MakeModule(CsrStructureKernels(), label).release();
}

const KernelTable& Table(absl::string_view prefix) {
  return *new KernelTable(CsrStructureKernels(), prefix);
}

// Their types are those of all matrices.
const KernelTable& DenseKernels() {
  static const KernelTable& kernels = Table("csr_to_dense");
  return kernels;
}

KernelRange Items(int64_t count) { return {.global = static_cast<size_t>(count)}; }

bool IsVector(const ffi::AnyBuffer& buffer, ffi::DataType type, int64_t size) {
  return buffer.element_type() == type && buffer.dimensions().size() == 1 &&
         buffer.dimensions()[0] == size;
}

absl::Status Refuse(absl::string_view handler, absl::string_view what, const CsrSizes& sizes) {
  return absl::InvalidArgumentError(absl::StrCat("onexpu: ", handler, ": no matrices [",
                                                 sizes.batches, ",", sizes.rows, ",", sizes.columns,
                                                 "] with ", sizes.elements, " elements: ", what));
}

absl::StatusOr<CsrSizes> CoordinateSizes(const ffi::AnyBuffer& coordinates, Shape shape,
                                         absl::string_view handler) {
  const auto dimensions = coordinates.dimensions();
  if (coordinates.element_type() != ffi::S64 || dimensions.size() != 2 ||
      dimensions[1] != static_cast<int64_t>(shape.size())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "onexpu: ", handler, ": ", DescribeBuffer(coordinates), " are no coordinates of a matrix"));
  }
  return CsrSizesOf(shape, dimensions[0], handler);
}

absl::Status FromCoordinates(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                             const ffi::AnyBuffer& coordinates, const ffi::AnyBuffer& row_pointers,
                             const ffi::AnyBuffer& column_indices, const ffi::AnyBuffer& numbers,
                             Shape shape) {
  constexpr char kName[] = "csr_from_coordinates";
  static SpirvModule& compress = Module("csr_compress_rows");
  static SpirvModule& point = Module("csr_row_pointers_int32");
  absl::StatusOr<CsrSizes> sizes = CoordinateSizes(coordinates, shape, kName);
  if (!sizes.ok()) return sizes.status();
  if (!IsVector(row_pointers, ffi::S32, sizes->row_pointers()) ||
      !IsVector(column_indices, ffi::S32, sizes->elements) ||
      !IsVector(numbers, ffi::S64, sizes->batches + 1)) {
    return Refuse(kName,
                  absl::StrCat(DescribeBuffer(row_pointers), ", ", DescribeBuffer(column_indices),
                               ", ", DescribeBuffer(numbers)),
                  *sizes);
  }
  absl::StatusOr<void*> row_begins =
      AllocateScratch(scratch, (sizes->all_rows() + 1) * sizeof(int32_t), kName);
  if (!row_begins.ok()) return row_begins.status();
  // Of no elements, rows have beginnings, too.
  const Chunks chunks = ElementChunks(queue, std::max<int64_t>(sizes->elements, 1));
  absl::StatusOr<void*> counts = AllocateScratch(scratch, chunks.count * sizeof(int64_t), kName);
  if (!counts.ok()) return counts.status();
  absl::Status status =
      LaunchKernel(queue, compress, chunks.range, coordinates.untyped_data(),
                   column_indices.untyped_data(), *row_begins, *counts, chunks.size, *sizes);
  if (!status.ok()) return status;
  status = ScanCounts(queue, *counts, chunks.count, numbers.typed_data<int64_t>() + sizes->batches);
  if (!status.ok()) return status;
  return LaunchKernel(queue, point, Items(sizes->row_pointers()), *row_begins,
                      row_pointers.untyped_data(), numbers.untyped_data(), *sizes);
}

absl::Status Pick(sycl::queue& queue, const ffi::AnyBuffer& dense,
                  const ffi::AnyBuffer& coordinates, const ffi::AnyBuffer& values, Shape shape) {
  constexpr char kName[] = "csr_pick";
  static const KernelTable& kernels = Table("csr_pick");
  absl::StatusOr<CsrSizes> sizes = CoordinateSizes(coordinates, shape, kName);
  if (!sizes.ok()) return sizes.status();
  const bool fits =
      IsVector(values, dense.element_type(), sizes->elements) &&
      dense.element_count() == static_cast<size_t>(sizes->all_rows() * sizes->columns);
  if (!fits) return Refuse(kName, DescribeBuffer(dense), *sizes);
  SpirvModule* const kernel = kernels.Find(values.element_type());
  if (kernel == nullptr)
    return absl::UnimplementedError(absl::StrCat("onexpu: ", kName, " of ", DescribeBuffer(dense)));
  return LaunchKernel(queue, *kernel, Items(sizes->elements), dense.untyped_data(),
                      coordinates.untyped_data(), values.untyped_data(), *sizes);
}

// Where the elements of each batch begin; null for one batch.
absl::StatusOr<const int64_t*> BatchBegins(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                                           const void* row_pointers, const CsrSizes& sizes,
                                           absl::string_view handler) {
  static SpirvModule& measure = Module("csr_batch_lengths");
  if (sizes.batches == 1) return nullptr;
  absl::StatusOr<void*> begins = AllocateScratch(scratch, sizes.batches * sizeof(int64_t), handler);
  if (!begins.ok()) return begins.status();
  absl::Status status =
      LaunchKernel(queue, measure, Items(sizes.batches), row_pointers, *begins, sizes);
  if (!status.ok()) return status;
  status = ScanCounts(queue, *begins, sizes.batches, nullptr);
  if (!status.ok()) return status;
  return static_cast<const int64_t*>(*begins);
}

absl::Status Coordinates(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                         const ffi::AnyBuffer& row_pointers, const ffi::AnyBuffer& column_indices,
                         const ffi::AnyBuffer& coordinates, Shape shape) {
  constexpr char kName[] = "csr_coordinates";
  static SpirvModule& kernel = Module("csr_coordinates");
  absl::StatusOr<CsrSizes> sizes = CoordinateSizes(coordinates, shape, kName);
  if (!sizes.ok()) return sizes.status();
  if (!IsVector(row_pointers, ffi::S32, sizes->row_pointers()) ||
      !IsVector(column_indices, ffi::S32, sizes->elements)) {
    return Refuse(kName,
                  absl::StrCat(DescribeBuffer(row_pointers), ", ", DescribeBuffer(column_indices)),
                  *sizes);
  }
  absl::StatusOr<const int64_t*> begins =
      BatchBegins(queue, scratch, row_pointers.untyped_data(), *sizes, kName);
  if (!begins.ok()) return begins.status();
  const Chunks chunks = ElementChunks(queue, sizes->elements);
  return LaunchKernel(queue, kernel, chunks.range, row_pointers.untyped_data(),
                      column_indices.untyped_data(), *begins, coordinates.untyped_data(),
                      chunks.size, *sizes);
}

absl::Status ToDense(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                     const ffi::AnyBuffer& row_pointers, const ffi::AnyBuffer& column_indices,
                     const ffi::AnyBuffer& values, const ffi::AnyBuffer& dense, Shape shape) {
  constexpr char kName[] = "csr_to_dense";
  absl::StatusOr<CsrMatrix> matrix =
      ReadCsr(queue, scratch, row_pointers, column_indices, values, shape, kName);
  if (!matrix.ok()) return matrix.status();
  const CsrSizes& sizes = matrix->sizes;
  if (dense.element_type() != matrix->type ||
      dense.element_count() != static_cast<size_t>(sizes.all_rows() * sizes.columns)) {
    return Refuse(kName, DescribeBuffer(dense), sizes);
  }
  queue.memset(dense.untyped_data(), 0, dense.size_bytes());
  return LaunchKernel(queue, *DenseKernels().Find(matrix->type),
                      SerialRows(queue, sizes.all_rows()), matrix->row_pointers,
                      matrix->column_indices, matrix->values, matrix->batch_begins,
                      dense.untyped_data(), sizes);
}

// `to`: memory for the transposed matrix.
struct CsrMemory {
  void* row_pointers;
  void* column_indices;
  void* values;
};

absl::Status TransposeInto(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                           const CsrMatrix& matrix, bool conjugate, const CsrMemory& to) {
  constexpr char kName[] = "csr_transpose";
  static SpirvModule& turn = Module("csr_turn");
  static SpirvModule& point = Module("csr_row_pointers_int64");
  static const KernelTable& moves = Table("csr_move");
  static const KernelTable& transposes = Table("csr_transpose");
  CsrSizes sizes = matrix.sizes;
  sizes.conjugate = conjugate;
  CsrSizes turned = sizes;
  std::swap(turned.rows, turned.columns);
  int64_t* const no_totals = nullptr;
  if (sizes.batches * sizes.columns > std::numeric_limits<int32_t>::max()) {
    return absl::UnimplementedError(
        absl::StrCat("onexpu: ", kName, ": ", sizes.batches, " matrices of ", sizes.columns,
                     " columns, of less than 2^31 in all; put the op under tf.device('/CPU:0')"));
  }
  if (sizes.batches == 1) {
    absl::StatusOr<std::optional<CountedKinds>> counted =
        CountByKind(queue, scratch, matrix.column_indices, sizes.elements, sizes.columns, nullptr);
    if (!counted.ok()) return counted.status();
    if (counted->has_value()) {
      const CountedKinds& columns = **counted;
      absl::Status status = LaunchKernel(queue, point, Items(turned.row_pointers()), columns.begins,
                                         to.row_pointers, no_totals, turned);
      if (!status.ok()) return status;
      const Chunks chunks = ChunksOf(queue, sizes.elements, columns.chunks.size);
      return LaunchKernel(queue, *transposes.Find(matrix.type), chunks.range, matrix.row_pointers,
                          matrix.column_indices, matrix.values, columns.counts, columns.begins,
                          to.column_indices, to.values, chunks.size, sizes);
    }
  }
  absl::StatusOr<void*> rows = AllocateScratch(scratch, sizes.elements * sizeof(int32_t), kName);
  if (!rows.ok()) return rows.status();
  absl::StatusOr<void*> columns = AllocateScratch(scratch, sizes.elements * sizeof(int32_t), kName);
  if (!columns.ok()) return columns.status();
  const Chunks chunks = ElementChunks(queue, sizes.elements);
  absl::Status status =
      LaunchKernel(queue, turn, chunks.range, matrix.row_pointers, matrix.column_indices,
                   matrix.batch_begins, *rows, *columns, chunks.size, sizes);
  if (!status.ok()) return status;
  absl::StatusOr<SortedKinds> sorted =
      SortByKind(queue, scratch, static_cast<int32_t*>(*rows), sizes.elements,
                 sizes.batches * sizes.columns, nullptr);
  if (!sorted.ok()) return sorted.status();
  status = LaunchKernel(queue, point, Items(turned.row_pointers()), sorted->begins, to.row_pointers,
                        no_totals, turned);
  if (!status.ok()) return status;
  return LaunchKernel(queue, *moves.Find(matrix.type), Items(sizes.elements), sorted->places,
                      *columns, matrix.values, to.column_indices, to.values, sizes);
}

absl::Status Transpose(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                       const ffi::AnyBuffer& row_pointers, const ffi::AnyBuffer& column_indices,
                       const ffi::AnyBuffer& values, const ffi::AnyBuffer& new_row_pointers,
                       const ffi::AnyBuffer& new_column_indices, const ffi::AnyBuffer& new_values,
                       Shape shape, int64_t conjugate) {
  constexpr char kName[] = "csr_transpose";
  absl::StatusOr<CsrMatrix> matrix =
      ReadCsr(queue, scratch, row_pointers, column_indices, values, shape, kName);
  if (!matrix.ok()) return matrix.status();
  const CsrSizes& sizes = matrix->sizes;
  if (sizes.elements == 0 ||
      !IsVector(new_row_pointers, ffi::S32, sizes.batches * (sizes.columns + 1)) ||
      !IsVector(new_column_indices, ffi::S32, sizes.elements) ||
      !IsVector(new_values, matrix->type, sizes.elements)) {
    return Refuse(kName, DescribeBuffer(new_row_pointers), sizes);
  }
  return TransposeInto(queue, scratch, *matrix, conjugate != 0,
                       {new_row_pointers.untyped_data(), new_column_indices.untyped_data(),
                        new_values.untyped_data()});
}

}  // namespace

absl::StatusOr<CsrSizes> CsrSizesOf(Shape shape, int64_t elements, absl::string_view handler) {
  CsrSizes sizes = {1, 0, 0, elements, static_cast<int32_t>(shape.size()), 0};
  const bool is_shape = shape.size() == 2 || shape.size() == 3;
  int64_t places = 1;
  for (const int64_t size : shape) {
    if (!is_shape || size < 0) {
      return absl::InvalidArgumentError(absl::StrCat("onexpu: ", handler, ": [",
                                                     absl::StrJoin(shape.begin(), shape.end(), ","),
                                                     "] is no shape of matrices"));
    }
    // The number after the last one is needed, too, and a row more in each batch.
    if (__builtin_mul_overflow(places, size + 1, &places)) {
      return absl::UnimplementedError(
          absl::StrCat("onexpu: ", handler, ": [", absl::StrJoin(shape.begin(), shape.end(), ","),
                       "] has 2^63 places or more, for which no number has the bits; put the op "
                       "under tf.device('/CPU:0')"));
    }
  }
  if (!is_shape) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: ", handler, ": ", shape.size(), " sizes are no shape of matrices"));
  }
  if (shape.size() == 3) sizes.batches = shape[0];
  sizes.rows = shape[shape.size() - 2];
  sizes.columns = shape[shape.size() - 1];
  return sizes;
}

absl::StatusOr<CsrMatrix> ReadCsr(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                                  const ffi::AnyBuffer& row_pointers,
                                  const ffi::AnyBuffer& column_indices,
                                  const ffi::AnyBuffer& values, Shape shape,
                                  absl::string_view handler) {
  const int64_t elements = static_cast<int64_t>(values.element_count());
  absl::StatusOr<CsrSizes> sizes = CsrSizesOf(shape, elements, handler);
  if (!sizes.ok()) return sizes.status();
  if (!IsVector(row_pointers, ffi::S32, sizes->row_pointers()) ||
      !IsVector(column_indices, ffi::S32, elements) ||
      !IsVector(values, values.element_type(), elements)) {
    return Refuse(handler,
                  absl::StrCat(DescribeBuffer(row_pointers), ", ", DescribeBuffer(column_indices),
                               ", ", DescribeBuffer(values)),
                  *sizes);
  }
  if (DenseKernels().Find(values.element_type()) == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("onexpu: ", handler, " has no kernel for ", DescribeBuffer(values)));
  }
  absl::StatusOr<const int64_t*> begins =
      BatchBegins(queue, scratch, row_pointers.untyped_data(), *sizes, handler);
  if (!begins.ok()) return begins.status();
  return CsrMatrix{*sizes,
                   values.element_type(),
                   row_pointers.typed_data<int32_t>(),
                   column_indices.typed_data<int32_t>(),
                   values.untyped_data(),
                   *begins};
}

Chunks ElementChunks(const sycl::queue& queue, int64_t elements) {
  return ChooseChunks(queue, elements, /*size_on_gpu=*/1);
}

KernelRange SerialRows(const sycl::queue& queue, int64_t rows) {
  return ChunksOf(queue, rows, 1).range;
}

absl::StatusOr<CsrMatrix> TransposeCsr(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                                       const CsrMatrix& matrix, bool conjugate) {
  constexpr char kName[] = "csr_transpose";
  CsrMatrix turned = matrix;
  std::swap(turned.sizes.rows, turned.sizes.columns);
  const int64_t elements = matrix.sizes.elements;
  CsrMemory to = {};
  absl::StatusOr<void*> memory =
      AllocateScratch(scratch, turned.sizes.row_pointers() * sizeof(int32_t), kName);
  if (!memory.ok()) return memory.status();
  to.row_pointers = *memory;
  memory = AllocateScratch(scratch, elements * sizeof(int32_t), kName);
  if (!memory.ok()) return memory.status();
  to.column_indices = *memory;
  memory = AllocateScratch(scratch, elements * ffi::ByteWidth(matrix.type), kName);
  if (!memory.ok()) return memory.status();
  to.values = *memory;
  absl::Status status = TransposeInto(queue, scratch, matrix, conjugate, to);
  if (!status.ok()) return status;
  turned.row_pointers = static_cast<const int32_t*>(to.row_pointers);
  turned.column_indices = static_cast<const int32_t*>(to.column_indices);
  turned.values = to.values;
  return turned;
}

XLA_FFI_Error* CsrFromCoordinatesHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<FromCoordinates, 3>(frame, "shape");
}

XLA_FFI_Error* CsrPickHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<Pick, 1>(frame, "shape");
}

XLA_FFI_Error* CsrCoordinatesHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<Coordinates, 1>(frame, "shape");
}

XLA_FFI_Error* CsrToDenseHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<ToDense, 1>(frame, "shape");
}

XLA_FFI_Error* CsrTransposeHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<Transpose, 3>(frame, "shape", "conjugate");
}

std::vector<std::string> CsrTypes() { return DenseKernels().TypeNames(); }

}  // namespace onexpu
