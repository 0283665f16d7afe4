#include "custom_kernels/builtin/csr/csr_merge.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/csr/csr_structure.h"
#include "custom_kernels/builtin/segment/runs.h"
#include "custom_kernels/builtin/sort/radix_sort.h"
#include "custom_kernels/builtin/support/call_handler.h"
#include "custom_kernels/builtin/support/chunks.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/builtin/support/schedule.h"
#include "custom_kernels/launch_kernel.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> CsrMergeKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

using Shape = ffi::Span<const int64_t>;

// As csr_merge.cpp declares it.
struct CsrProductSizes {
  int64_t batches, rows, inner, columns, a_batches, b_batches, a_elements, elements, chunk;
};

SpirvModule& Module(absl::string_view label) {
  return *MakeModule(CsrMergeKernels(), label).release();
}

const KernelTable& Table(absl::string_view prefix) {
  return *new KernelTable(CsrMergeKernels(), prefix);
}

KernelRange Items(int64_t count) { return {.global = static_cast<size_t>(count)}; }

// Where the result goes.
struct Merged {
  const ffi::AnyBuffer& row_pointers;
  const ffi::AnyBuffer& column_indices;
  const ffi::AnyBuffer& values;
  const ffi::AnyBuffer& totals;
};

absl::Status CheckMerged(const Merged& to, ffi::DataType type, const CsrSizes& sizes,
                         int64_t elements, absl::string_view handler) {
  const auto holds = [](const ffi::AnyBuffer& buffer, ffi::DataType of, int64_t size) {
    return buffer.element_type() == of && static_cast<int64_t>(buffer.element_count()) >= size;
  };
  if (holds(to.row_pointers, ffi::S32, sizes.row_pointers()) &&
      holds(to.column_indices, ffi::S32, elements) && holds(to.values, type, elements) &&
      holds(to.totals, ffi::S64, sizes.batches)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("onexpu: ", handler, ": ", sizes.batches, " matrices of ", sizes.rows,
                   " rows and ", elements, " elements do not fit into ",
                   DescribeBuffer(to.row_pointers), ", ", DescribeBuffer(to.column_indices), ", ",
                   DescribeBuffer(to.values), " and ", DescribeBuffer(to.totals)));
}

// Numbers of cells, which are overwritten, and values.
struct Terms {
  uint64_t* numbers;
  void* values;
};

absl::StatusOr<Terms> AllocateTerms(ffi::ScratchAllocator& scratch, int64_t count,
                                    ffi::DataType type, absl::string_view handler) {
  absl::StatusOr<void*> numbers = AllocateScratch(scratch, count * sizeof(uint64_t), handler);
  if (!numbers.ok()) return numbers.status();
  absl::StatusOr<void*> values = AllocateScratch(scratch, count * ffi::ByteWidth(type), handler);
  if (!values.ok()) return values.status();
  return Terms{static_cast<uint64_t*>(*numbers), *values};
}

// The matrix of `sizes.elements` > 0 terms.
absl::Status Merge(sycl::queue& queue, ffi::ScratchAllocator& scratch, const Terms& terms,
                   ffi::DataType type, const CsrSizes& sizes, const Merged& to) {
  static const KernelTable& merges = Table("csr_merge");
  static SpirvModule& point = Module("csr_merge_pointers");
  absl::StatusOr<SortedNumbers> sorted =
      SortWithPlaces(queue, scratch, terms.numbers, sizes.elements,
                     BitsFor(static_cast<uint64_t>(sizes.all_rows() * sizes.columns)));
  if (!sorted.ok()) return sorted.status();
  absl::StatusOr<Runs> runs =
      FindRuns(queue, scratch, sorted->numbers, sizes.elements, Equality{}, nullptr);
  if (!runs.ok()) return runs.status();
  absl::Status status =
      LaunchKernel(queue, *merges.Find(type), Items(sizes.elements), sorted->numbers,
                   sorted->places, runs->of, runs->begins, terms.values,
                   to.column_indices.untyped_data(), to.values.untyped_data(), sizes);
  if (!status.ok()) return status;
  return LaunchKernel(queue, point, Items(sizes.row_pointers()), sorted->numbers, runs->of,
                      to.row_pointers.untyped_data(), to.totals.untyped_data(), sizes);
}

absl::Status Add(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                 const ffi::RemainingArgs& arguments, const Merged& to, Shape shape) {
  constexpr char kName[] = "csr_add";
  constexpr size_t kPerMatrix = 4;
  static const KernelTable& cells = Table("csr_cells");
  std::vector<CsrMatrix> matrices;
  std::vector<const void*> scales;
  int64_t elements = 0;
  for (size_t i = 0; i + kPerMatrix <= arguments.size(); i += kPerMatrix) {
    auto row_pointers = arguments.get<ffi::AnyBuffer>(i);
    auto column_indices = arguments.get<ffi::AnyBuffer>(i + 1);
    auto values = arguments.get<ffi::AnyBuffer>(i + 2);
    auto scale = arguments.get<ffi::AnyBuffer>(i + 3);
    if (row_pointers.has_error() || column_indices.has_error() || values.has_error() ||
        scale.has_error() || scale->element_type() != to.values.element_type() ||
        values->element_type() != to.values.element_type() || scale->element_count() != 1) {
      return absl::InvalidArgumentError(absl::StrCat("onexpu: ", kName, ": operands from ", i,
                                                     " on are no matrix of ",
                                                     DescribeBuffer(to.values), " with its scale"));
    }
    absl::StatusOr<CsrMatrix> matrix =
        ReadCsr(queue, scratch, *row_pointers, *column_indices, *values, shape, kName);
    if (!matrix.ok()) return matrix.status();
    elements += matrix->sizes.elements;
    matrices.push_back(*matrix);
    scales.push_back(scale->untyped_data());
  }
  if (elements == 0 || arguments.size() % kPerMatrix != 0) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: ", kName, ": ", elements,
                                                   " elements of ", arguments.size(), " operands"));
  }
  CsrSizes sizes = matrices.front().sizes;
  const ffi::DataType type = matrices.front().type;
  sizes.elements = elements;
  absl::Status status = CheckMerged(to, type, sizes, elements, kName);
  if (!status.ok()) return status;
  absl::StatusOr<Terms> terms = AllocateTerms(scratch, elements, type, kName);
  if (!terms.ok()) return terms.status();
  int64_t first = 0;
  for (size_t i = 0; i < matrices.size(); ++i) {
    const CsrMatrix& matrix = matrices[i];
    const Chunks chunks = ElementChunks(queue, matrix.sizes.elements);
    void* const values =
        static_cast<char*>(terms->values) + static_cast<size_t>(first) * ffi::ByteWidth(type);
    status = LaunchKernel(queue, *cells.Find(type), chunks.range, matrix.row_pointers,
                          matrix.column_indices, matrix.values, matrix.batch_begins, scales[i],
                          terms->numbers + first, values, chunks.size, matrix.sizes);
    if (!status.ok()) return status;
    first += matrix.sizes.elements;
  }
  return Merge(queue, scratch, *terms, type, sizes, to);
}

// Elements of A, in pieces: what each has to do is as much as the rows of B are long.
Chunks ProductChunks(const sycl::queue& queue, int64_t elements) {
  return ChunksOf(queue, elements, HasCpuSchedules(queue) ? 512 : 8);
}

absl::StatusOr<CsrProductSizes> ProductSizes(const CsrSizes& a, const CsrSizes& b,
                                             absl::string_view handler) {
  const bool copies_a = a.batches == 1, copies_b = b.batches == 1;
  if (a.columns == b.rows && (a.batches == b.batches || copies_a || copies_b)) {
    const int64_t batches = copies_a ? b.batches : a.batches;
    return CsrProductSizes{
        batches,   a.rows,    a.columns,  b.columns,
        a.batches, b.batches, a.elements, copies_a ? batches * a.elements : a.elements,
        0};
  }
  return absl::InvalidArgumentError(absl::StrCat("onexpu: ", handler, ": no product of ", a.batches,
                                                 " matrices [", a.rows, ",", a.columns, "] and ",
                                                 b.batches, " of [", b.rows, ",", b.columns, "]"));
}

// The counts of terms of each chunk of A's elements, in scratch.
absl::StatusOr<int64_t*> CountTerms(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                                    const CsrMatrix& a, const CsrMatrix& b,
                                    const CsrProductSizes& sizes, const Chunks& chunks,
                                    absl::string_view handler) {
  static SpirvModule& count = Module("csr_count_terms");
  absl::StatusOr<void*> counts = AllocateScratch(scratch, chunks.count * sizeof(int64_t), handler);
  if (!counts.ok()) return counts.status();
  absl::Status status =
      LaunchKernel(queue, count, chunks.range, a.row_pointers, a.column_indices, a.batch_begins,
                   b.row_pointers, b.batch_begins, *counts, sizes);
  if (!status.ok()) return status;
  return static_cast<int64_t*>(*counts);
}

absl::Status ProductTerms(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                          const ffi::AnyBuffer& row_pointers, const ffi::AnyBuffer& column_indices,
                          const ffi::AnyBuffer& values, const ffi::AnyBuffer& b_row_pointers,
                          const ffi::AnyBuffer& b_column_indices, const ffi::AnyBuffer& b_values,
                          const ffi::AnyBuffer& total, Shape shape, Shape b_shape) {
  constexpr char kName[] = "csr_product_terms";
  absl::StatusOr<CsrMatrix> a =
      ReadCsr(queue, scratch, row_pointers, column_indices, values, shape, kName);
  if (!a.ok()) return a.status();
  absl::StatusOr<CsrMatrix> b =
      ReadCsr(queue, scratch, b_row_pointers, b_column_indices, b_values, b_shape, kName);
  if (!b.ok()) return b.status();
  absl::StatusOr<CsrProductSizes> sizes = ProductSizes(a->sizes, b->sizes, kName);
  if (!sizes.ok()) return sizes.status();
  if (total.element_type() != ffi::S64 || total.element_count() != 1 || sizes->elements == 0) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: ", kName, ": the number of terms of ",
                                                   DescribeBuffer(values), " is no ",
                                                   DescribeBuffer(total)));
  }
  const Chunks chunks = ProductChunks(queue, sizes->elements);
  sizes->chunk = chunks.size;
  absl::StatusOr<int64_t*> counts = CountTerms(queue, scratch, *a, *b, *sizes, chunks, kName);
  if (!counts.ok()) return counts.status();
  return ScanCounts(queue, *counts, chunks.count, total.untyped_data());
}

// A product by the terms of each cell.
absl::Status SortedProduct(sycl::queue& queue, ffi::ScratchAllocator& scratch, const CsrMatrix& a,
                           const CsrMatrix& b, CsrProductSizes sizes, int64_t count,
                           const Merged& to, absl::string_view handler) {
  static const KernelTable& writes = Table("csr_write_terms");
  const Chunks chunks = ProductChunks(queue, sizes.elements);
  sizes.chunk = chunks.size;
  absl::StatusOr<int64_t*> positions = CountTerms(queue, scratch, a, b, sizes, chunks, handler);
  if (!positions.ok()) return positions.status();
  absl::Status status = ScanCounts(queue, *positions, chunks.count, nullptr);
  if (!status.ok()) return status;
  absl::StatusOr<Terms> terms = AllocateTerms(scratch, count, a.type, handler);
  if (!terms.ok()) return terms.status();
  status = LaunchKernel(queue, *writes.Find(a.type), chunks.range, a.row_pointers, a.column_indices,
                        a.values, a.batch_begins, b.row_pointers, b.column_indices, b.values,
                        b.batch_begins, *positions, terms->numbers, terms->values, sizes);
  if (!status.ok()) return status;
  const CsrSizes merged = {sizes.batches, sizes.rows, sizes.columns, count, a.sizes.rank, 0};
  return Merge(queue, scratch, *terms, a.type, merged, to);
}

// A product by its dense cells, which are fewer than the terms.
absl::Status DenseProduct(sycl::queue& queue, ffi::ScratchAllocator& scratch, const CsrMatrix& a,
                          const CsrMatrix& b, const CsrProductSizes& sizes, const Merged& to,
                          absl::string_view handler) {
  static const KernelTable& multiplies = Table("csr_dense_terms");
  static const KernelTable& compresses = Table("csr_compress");
  static SpirvModule& point = Module("csr_compress_pointers");
  const int64_t rows = sizes.batches * sizes.rows;
  const size_t cells = static_cast<size_t>(rows * sizes.columns);
  absl::StatusOr<void*> dense = AllocateScratch(scratch, cells * ffi::ByteWidth(a.type), handler);
  if (!dense.ok()) return dense.status();
  absl::StatusOr<void*> marks = AllocateScratch(scratch, cells, handler);
  if (!marks.ok()) return marks.status();
  absl::StatusOr<void*> counts = AllocateScratch(scratch, (rows + 1) * sizeof(int64_t), handler);
  if (!counts.ok()) return counts.status();
  queue.memset(*dense, 0, cells * ffi::ByteWidth(a.type));
  queue.memset(*marks, 0, cells);
  // The last one counts nothing: it becomes the sum of the others.
  queue.memset(*counts, 0, (rows + 1) * sizeof(int64_t));
  absl::Status status =
      LaunchKernel(queue, *multiplies.Find(a.type), SerialRows(queue, rows), a.row_pointers,
                   a.column_indices, a.values, a.batch_begins, b.row_pointers, b.column_indices,
                   b.values, b.batch_begins, *dense, *marks, *counts, sizes);
  if (!status.ok()) return status;
  status = ScanCounts(queue, *counts, rows + 1, nullptr);
  if (!status.ok()) return status;
  status = LaunchKernel(queue, *compresses.Find(a.type), SerialRows(queue, rows), *dense, *marks,
                        *counts, to.column_indices.untyped_data(), to.values.untyped_data(), sizes);
  if (!status.ok()) return status;
  return LaunchKernel(queue, point, Items(sizes.batches * (sizes.rows + 1)), *counts,
                      to.row_pointers.untyped_data(), to.totals.untyped_data(), sizes);
}

absl::Status Product(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                     const ffi::AnyBuffer& row_pointers, const ffi::AnyBuffer& column_indices,
                     const ffi::AnyBuffer& values, const ffi::AnyBuffer& b_row_pointers,
                     const ffi::AnyBuffer& b_column_indices, const ffi::AnyBuffer& b_values,
                     const Merged& to, Shape shape, Shape b_shape, int64_t terms) {
  constexpr char kName[] = "csr_product";
  absl::StatusOr<CsrMatrix> a =
      ReadCsr(queue, scratch, row_pointers, column_indices, values, shape, kName);
  if (!a.ok()) return a.status();
  absl::StatusOr<CsrMatrix> b =
      ReadCsr(queue, scratch, b_row_pointers, b_column_indices, b_values, b_shape, kName);
  if (!b.ok()) return b.status();
  absl::StatusOr<CsrProductSizes> sizes = ProductSizes(a->sizes, b->sizes, kName);
  if (!sizes.ok()) return sizes.status();
  if (terms < 1 || sizes->elements == 0 || a->type != b->type) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: ", kName, ": no ", terms, " terms of ",
                                                   DescribeBuffer(values), " and ",
                                                   DescribeBuffer(b_values)));
  }
  // The numbers of cells are below 2^63: batches * rows are row pointers, columns are 32-bit.
  const int64_t cells = sizes->batches * sizes->rows * sizes->columns;
  const CsrSizes result = {sizes->batches, sizes->rows, sizes->columns, 0, a->sizes.rank, 0};
  absl::Status status = CheckMerged(to, a->type, result, std::min(terms, cells), kName);
  if (!status.ok()) return status;
  if (terms > cells) return DenseProduct(queue, scratch, *a, *b, *sizes, to, kName);
  return SortedProduct(queue, scratch, *a, *b, *sizes, terms, to, kName);
}

}  // namespace

XLA_FFI_Error* CsrAddHandler(XLA_FFI_CallFrame* frame) {
  constexpr auto add = [](sycl::queue& queue, ffi::ScratchAllocator& scratch,
                          const ffi::RemainingArgs& arguments, const ffi::AnyBuffer& row_pointers,
                          const ffi::AnyBuffer& column_indices, const ffi::AnyBuffer& values,
                          const ffi::AnyBuffer& totals, Shape shape) {
    return Add(queue, scratch, arguments, {row_pointers, column_indices, values, totals}, shape);
  };
  return CallHandler<add, 4>(frame, "shape");
}

XLA_FFI_Error* CsrProductTermsHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<ProductTerms, 1>(frame, "shape", "b_shape");
}

XLA_FFI_Error* CsrProductHandler(XLA_FFI_CallFrame* frame) {
  constexpr auto product =
      [](sycl::queue& queue, ffi::ScratchAllocator& scratch, const ffi::AnyBuffer& row_pointers,
         const ffi::AnyBuffer& column_indices, const ffi::AnyBuffer& values,
         const ffi::AnyBuffer& b_row_pointers, const ffi::AnyBuffer& b_column_indices,
         const ffi::AnyBuffer& b_values, const ffi::AnyBuffer& new_row_pointers,
         const ffi::AnyBuffer& new_column_indices, const ffi::AnyBuffer& new_values,
         const ffi::AnyBuffer& totals, Shape shape, Shape b_shape, int64_t terms) {
        return Product(queue, scratch, row_pointers, column_indices, values, b_row_pointers,
                       b_column_indices, b_values,
                       {new_row_pointers, new_column_indices, new_values, totals}, shape, b_shape,
                       terms);
      };
  return CallHandler<product, 4>(frame, "shape", "b_shape", "terms");
}

}  // namespace onexpu
