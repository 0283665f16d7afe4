#include "custom_kernels/builtin/csr/sparse_matmul.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/sort/radix_sort.h"
#include "custom_kernels/builtin/support/call_handler.h"
#include "custom_kernels/builtin/support/chunks.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/builtin/support/schedule.h"
#include "custom_kernels/launch_kernel.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> SparseMatmulKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

// As sparse_matmul.cpp declares it.
struct SparseMatmulSizes {
  int64_t elements, rows, inner, columns, chunk, piece, pieces, elements_per_item;
  int32_t coordinates_are_wide, adjoint_a, adjoint_b, padding;
};

const KernelTable& Kernels() {
  static const auto* const table = new KernelTable(SparseMatmulKernels(), "sparse_matmul");
  return *table;
}

// As A's elements are given.
const KernelTable& GivenKernels() {
  static const auto* const table = new KernelTable(SparseMatmulKernels(), "sparse_matmul_given");
  return *table;
}

// A word on the device, 0.
absl::StatusOr<uint32_t*> AllocateFlag(sycl::queue& queue, ffi::ScratchAllocator& scratch) {
  absl::StatusOr<void*> memory = AllocateScratch(scratch, sizeof(uint32_t), "sparse matmul");
  if (!memory.ok()) return memory.status();
  queue.memset(*memory, 0, sizeof(uint32_t));
  return static_cast<uint32_t*>(*memory);
}

absl::Status Multiply(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                      const ffi::AnyBuffer& coordinates, const ffi::AnyBuffer& values,
                      const ffi::AnyBuffer& b, const ffi::AnyBuffer& result, int64_t adjoint_a,
                      int64_t adjoint_b) {
  const auto of_a = coordinates.dimensions(), of_b = b.dimensions(), of_c = result.dimensions();
  const bool fits =
      (coordinates.element_type() == ffi::S32 || coordinates.element_type() == ffi::S64) &&
      of_a.size() == 2 && of_a[1] == 2 && values.dimensions().size() == 1 &&
      values.dimensions()[0] == of_a[0] && of_b.size() == 2 && of_c.size() == 2 &&
      of_c[1] == of_b[adjoint_b ? 0 : 1] && values.element_type() == b.element_type() &&
      values.element_type() == result.element_type();
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: sparse matmul: values ", DescribeBuffer(values), " at ",
                     DescribeBuffer(coordinates), " times ", DescribeBuffer(b), " are not ",
                     DescribeBuffer(result)));
  }
  SpirvModule* const kernel = Kernels().Find(values.element_type());
  static SpirvModule* const number_rows =
      MakeModule(SparseMatmulKernels(), "sparse_matmul_rows").release();
  if (kernel == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("onexpu: sparse matmul has no kernel for ", DescribeBuffer(values)));
  }
  if (result.element_count() == 0) return absl::OkStatus();
  queue.memset(result.untyped_data(), 0, result.size_bytes());
  SparseMatmulSizes sizes = {};
  sizes.elements = of_a[0];
  if (sizes.elements == 0) return absl::OkStatus();
  sizes.rows = of_c[0];
  sizes.inner = of_b[adjoint_b ? 1 : 0];
  sizes.columns = of_c[1];
  sizes.coordinates_are_wide = coordinates.element_type() == ffi::S64;
  sizes.adjoint_a = adjoint_a != 0;
  sizes.adjoint_b = adjoint_b != 0;
  sizes.chunk = RowsPerWorkItem(queue, sizes.columns);
  sizes.piece = ColumnsPerWorkItem(queue, sizes.columns);
  sizes.pieces = (sizes.columns + sizes.piece - 1) / sizes.piece;
  KernelRange range = ChunksOf(queue, sizes.elements, sizes.chunk).range;
  range.global *= sizes.pieces;

  // Rows mostly ascend, which only the device can see: the product is computed as if they did, and
  // what follows does something where they did not. Those of an adjoint A are columns.
  uint32_t* has_to_sort = nullptr;
  if (!adjoint_a) {
    absl::StatusOr<uint32_t*> flag = AllocateFlag(queue, scratch);
    if (!flag.ok()) return flag.status();
    has_to_sort = *flag;
    absl::Status status = LaunchKernel(queue, *GivenKernels().Find(values.element_type()), range,
                                       coordinates.untyped_data(), values.untyped_data(),
                                       b.untyped_data(), result.untyped_data(), has_to_sort, sizes);
    if (!status.ok()) return status;
  }
  absl::StatusOr<void*> numbers =
      AllocateScratch(scratch, sizes.elements * sizeof(uint64_t), "sparse matmul");
  if (!numbers.ok()) return numbers.status();
  const Chunks chunks = ChooseChunks(queue, sizes.elements, /*size_on_gpu=*/1);
  sizes.elements_per_item = chunks.size;
  absl::Status status = LaunchKernel(queue, *number_rows, chunks.range, coordinates.untyped_data(),
                                     *numbers, has_to_sort, sizes);
  if (!status.ok()) return status;
  absl::StatusOr<SortedNumbers> sorted =
      SortWithPlaces(queue, scratch, static_cast<uint64_t*>(*numbers), sizes.elements,
                     BitsFor(sizes.rows + 1), has_to_sort);
  if (!sorted.ok()) return sorted.status();
  return LaunchKernel(queue, *kernel, range, coordinates.untyped_data(), values.untyped_data(),
                      b.untyped_data(), sorted->numbers, sorted->places, result.untyped_data(),
                      has_to_sort, sizes);
}

}  // namespace

XLA_FFI_Error* SparseMatmulHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<Multiply, 1>(frame, "adjoint_a", "adjoint_b");
}

std::vector<std::string> SparseMatmulTypes() { return Kernels().TypeNames(); }

}  // namespace onexpu
