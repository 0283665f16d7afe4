#include "custom_kernels/builtin/csr/csr_matmul.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/csr/csr_structure.h"
#include "custom_kernels/builtin/support/call_handler.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/builtin/support/schedule.h"
#include "custom_kernels/launch_kernel.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> CsrMatmulKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

using Shape = ffi::Span<const int64_t>;

constexpr char kName[] = "csr_matmul";

// As csr_matmul.cpp declares it.
struct CsrMatmulSizes {
  int64_t rows, inner, columns, piece, pieces, all_pieces, pieces_per_item;
  int32_t transpose_b, conjugate_b, transpose_output, conjugate_output;
};

// The kernel, the columns of a piece, and the work-group size. A group of one iterates over pieces.
struct Schedule {
  const KernelTable* kernels;
  int64_t piece;
  size_t group;
};

// A GPU's work-items compute adjacent columns. A CPU's work-items iterate over rows and compute
// vectors of columns. Its compiler vectorizes complex numbers only across a work-group.
Schedule ScheduleFor(const sycl::queue& queue, const CsrMatmulSizes& sizes, ffi::DataType type) {
  static const auto* const rows = new KernelTable(CsrMatmulKernels(), "csr_matmul");
  static const auto* const wide = new KernelTable(CsrMatmulKernels(), "csr_matmul_wide");
  constexpr int64_t kVector = 16, kVectors = 4, kMaxScalarColumns = 4;
  if (!HasCpuSchedules(queue)) return {rows, 1, 0};
  const bool is_complex = type == ffi::C64 || type == ffi::C128;
  if (!is_complex || sizes.columns <= kMaxScalarColumns || sizes.transpose_b ||
      sizes.transpose_output)
    return {rows, sizes.columns, 1};
  return {wide, kVectors * kVector, kVector};
}

// Rows may have any length. Many work-items balance the load of the cores, but not one for each
// row, because each work-item has a launch cost.
int64_t PiecesPerItem(const sycl::queue& queue, int64_t rows) {
  constexpr int64_t kPerCore = 32;
  const int64_t cores = queue.get_device().get_info<sycl::info::device::max_compute_units>();
  return std::max<int64_t>(1, rows / (kPerCore * cores));
}

struct Options {
  bool transpose_a, conjugate_a, transpose_b, conjugate_b, transpose_output, conjugate_output;
};

absl::Status Multiply(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                      const ffi::AnyBuffer& row_pointers, const ffi::AnyBuffer& column_indices,
                      const ffi::AnyBuffer& values, const ffi::AnyBuffer& b,
                      const ffi::AnyBuffer& result, Shape shape, const Options& options) {
  absl::StatusOr<CsrMatrix> a =
      ReadCsr(queue, scratch, row_pointers, column_indices, values, shape, kName);
  if (!a.ok()) return a.status();
  int64_t rows = a->sizes.rows, inner = a->sizes.columns;
  if (options.transpose_a) std::swap(rows, inner);
  const auto of_b = b.dimensions();
  const size_t rank = of_b.size();
  const bool fits =
      b.element_type() == a->type && result.element_type() == a->type &&
      rank == static_cast<size_t>(a->sizes.rank) && (rank == 2 || of_b[0] == a->sizes.batches) &&
      of_b[rank - (options.transpose_b ? 1 : 2)] == inner &&
      result.element_count() ==
          static_cast<size_t>(a->sizes.batches * rows * of_b[rank - (options.transpose_b ? 2 : 1)]);
  if (!fits || (options.conjugate_a && !options.transpose_a)) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: ", kName, ": ", a->sizes.batches, " matrices of ", rows, " rows and ",
                     inner, " columns with values ", DescribeBuffer(values), " times ",
                     DescribeBuffer(b), " are not ", DescribeBuffer(result)));
  }
  if (result.element_count() == 0) return absl::OkStatus();
  if (options.transpose_a) {
    a = TransposeCsr(queue, scratch, *a, options.conjugate_a);
    if (!a.ok()) return a.status();
  }
  CsrMatmulSizes sizes = {};
  sizes.rows = rows;
  sizes.inner = inner;
  sizes.columns = of_b[rank - (options.transpose_b ? 2 : 1)];
  sizes.transpose_b = options.transpose_b;
  sizes.conjugate_b = options.conjugate_b;
  sizes.transpose_output = options.transpose_output;
  sizes.conjugate_output = options.conjugate_output;
  const Schedule schedule = ScheduleFor(queue, sizes, a->type);
  sizes.piece = schedule.piece;
  sizes.pieces = (sizes.columns + sizes.piece - 1) / sizes.piece;
  sizes.all_pieces = a->sizes.all_rows() * sizes.pieces;
  sizes.pieces_per_item = schedule.group == 1 ? PiecesPerItem(queue, sizes.all_pieces) : 1;
  const int64_t items = (sizes.all_pieces + sizes.pieces_per_item - 1) / sizes.pieces_per_item;
  return LaunchKernel(queue, *schedule.kernels->Find(a->type),
                      {.global = static_cast<size_t>(items) * std::max<size_t>(schedule.group, 1),
                       .local = schedule.group},
                      a->row_pointers, a->column_indices, a->values, a->batch_begins,
                      b.untyped_data(), result.untyped_data(), sizes);
}

}  // namespace

XLA_FFI_Error* CsrMatmulHandler(XLA_FFI_CallFrame* frame) {
  constexpr auto multiply =
      [](sycl::queue& queue, ffi::ScratchAllocator& scratch, const ffi::AnyBuffer& row_pointers,
         const ffi::AnyBuffer& column_indices, const ffi::AnyBuffer& values,
         const ffi::AnyBuffer& b, const ffi::AnyBuffer& result, Shape shape, int64_t transpose_a,
         int64_t conjugate_a, int64_t transpose_b, int64_t conjugate_b, int64_t transpose_output,
         int64_t conjugate_output) {
        return Multiply(queue, scratch, row_pointers, column_indices, values, b, result, shape,
                        {transpose_a != 0, conjugate_a != 0, transpose_b != 0, conjugate_b != 0,
                         transpose_output != 0, conjugate_output != 0});
      };
  return CallHandler<multiply, 1>(frame, "shape", "transpose_a", "conjugate_a", "transpose_b",
                                  "conjugate_b", "transpose_output", "conjugate_output");
}

}  // namespace onexpu
