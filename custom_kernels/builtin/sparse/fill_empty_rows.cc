#include "custom_kernels/builtin/sparse/fill_empty_rows.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/sort/radix_sort.h"
#include "custom_kernels/builtin/support/call_handler.h"
#include "custom_kernels/builtin/support/chunks.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/launch_kernel.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> FillEmptyRowsKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

// As fill_empty_rows.cpp declares it.
struct FillSizes {
  int64_t elements, rows, chunk, rank;
};

constexpr int64_t kChunk = 4096;
constexpr char kName[] = "fill empty rows";

SpirvModule& Module(absl::string_view label) {
  return *MakeModule(FillEmptyRowsKernels(), label).release();
}

bool IsVector(const ffi::AnyBuffer& buffer, ffi::DataType type, int64_t size) {
  return buffer.element_type() == type && buffer.dimensions().size() == 1 &&
         buffer.dimensions()[0] == size;
}

absl::Status Fill(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                  const ffi::AnyBuffer& coordinates, const ffi::AnyBuffer& values,
                  const ffi::AnyBuffer& default_value, const ffi::AnyBuffer& new_coordinates,
                  const ffi::AnyBuffer& new_values, const ffi::AnyBuffer& is_empty,
                  const ffi::AnyBuffer& moved_to, const ffi::AnyBuffer& verdict) {
  static SpirvModule& number_rows = Module("fill_rows");
  static SpirvModule& count_rows = Module("fill_count_rows");
  const int64_t elements = static_cast<int64_t>(values.element_count());
  const int64_t rows = static_cast<int64_t>(is_empty.element_count());
  const auto shape = coordinates.dimensions(), new_shape = new_coordinates.dimensions();
  const ffi::DataType type = values.element_type();
  const bool fits = IsVector(values, type, elements) && coordinates.element_type() == ffi::S64 &&
                    shape.size() == 2 && shape[0] == elements && shape[1] > 0 &&
                    default_value.element_type() == type && default_value.element_count() == 1 &&
                    new_coordinates.element_type() == ffi::S64 && new_shape.size() == 2 &&
                    new_shape[0] == elements + rows && new_shape[1] == shape[1] &&
                    IsVector(new_values, type, elements + rows) &&
                    IsVector(is_empty, ffi::PRED, rows) && rows > 0 &&
                    IsVector(moved_to, ffi::S64, elements) && IsVector(verdict, ffi::S64, 2);
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: ", kName, ": values ", DescribeBuffer(values), " at ",
                     DescribeBuffer(coordinates), " with ", rows, " rows do not become ",
                     DescribeBuffer(new_values), " at ", DescribeBuffer(new_coordinates)));
  }
  static const auto* const moving = new SizedKernelTable(FillEmptyRowsKernels(), "fill_move");
  SpirvModule* const move = moving->Find(default_value.size_bytes());
  if (move == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("onexpu: ", kName, ": no kernel for ", DescribeBuffer(values)));
  }
  FillSizes sizes = {elements, rows, 0, shape[1]};
  absl::StatusOr<void*> numbers = AllocateScratch(scratch, elements * sizeof(uint64_t), kName);
  if (!numbers.ok()) return numbers.status();
  const KernelRange each = {.global = static_cast<size_t>(elements)};
  absl::Status status =
      LaunchKernel(queue, number_rows, each, coordinates.untyped_data(), *numbers, sizes);
  if (!status.ok()) return status;
  absl::StatusOr<SortedNumbers> sorted =
      SortWithPlaces(queue, scratch, static_cast<uint64_t*>(*numbers), elements, BitsFor(rows + 1));
  if (!sorted.ok()) return sorted.status();
  const Chunks chunks = ChooseChunks(queue, elements + rows, /*size_on_gpu=*/8);
  sizes.chunk = chunks.size;
  absl::StatusOr<void*> counts = AllocateScratch(scratch, chunks.count * sizeof(int64_t), kName);
  if (!counts.ok()) return counts.status();
  status = LaunchKernel(queue, count_rows, chunks.range, sorted->numbers, *counts, sizes);
  if (!status.ok()) return status;
  status = ScanCounts(queue, *counts, chunks.count, nullptr);
  if (!status.ok()) return status;
  return LaunchKernel(queue, *move, chunks.range, coordinates.untyped_data(), values.untyped_data(),
                      default_value.untyped_data(), sorted->numbers, sorted->places, *counts,
                      new_coordinates.untyped_data(), new_values.untyped_data(),
                      is_empty.untyped_data(), moved_to.untyped_data(), verdict.untyped_data(),
                      sizes);
}

// The kernels of the gradient, by type.
struct GradKernels {
  KernelTable values{FillEmptyRowsKernels(), "fill_grad_values"};
  KernelTable sum{FillEmptyRowsKernels(), "fill_grad_sum"};
  KernelTable default_value{FillEmptyRowsKernels(), "fill_grad_default"};
};

const GradKernels& Gradients() {
  static const auto* const kernels = new GradKernels;
  return *kernels;
}

absl::Status FillGrad(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                      const ffi::AnyBuffer& moved_to, const ffi::AnyBuffer& slopes,
                      const ffi::AnyBuffer& of_values, const ffi::AnyBuffer& of_default) {
  const ffi::DataType type = slopes.element_type();
  const int64_t elements = static_cast<int64_t>(moved_to.element_count());
  const int64_t count = static_cast<int64_t>(slopes.element_count());
  const bool fits = IsVector(moved_to, ffi::S64, elements) && IsVector(slopes, type, count) &&
                    IsVector(of_values, type, elements) && of_default.element_type() == type &&
                    of_default.element_count() == 1;
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: ", kName, ": slopes ", DescribeBuffer(slopes), " of values moved to ",
                     DescribeBuffer(moved_to), " do not become ", DescribeBuffer(of_values),
                     " and ", DescribeBuffer(of_default)));
  }
  SpirvModule* const values = Gradients().values.Find(type);
  if (values == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("onexpu: ", kName, ": no kernel for the gradient ", DescribeBuffer(slopes)));
  }
  const Chunks chunks = ChunksOf(queue, count, kChunk);  // the same sums on every device
  absl::StatusOr<void*> is_taken = AllocateScratch(scratch, count, kName);
  if (!is_taken.ok()) return is_taken.status();
  // The widest sum is a complex128.
  absl::StatusOr<void*> sums = AllocateScratch(scratch, chunks.count * 2 * sizeof(double), kName);
  if (!sums.ok()) return sums.status();
  if (count > 0) queue.memset(*is_taken, 0, count);
  absl::Status status = LaunchKernel(queue, *values, {.global = static_cast<size_t>(elements)},
                                     moved_to.untyped_data(), slopes.untyped_data(),
                                     of_values.untyped_data(), *is_taken, count);
  if (!status.ok()) return status;
  status = LaunchKernel(queue, *Gradients().sum.Find(type), chunks.range, slopes.untyped_data(),
                        *is_taken, *sums, count, kChunk);
  if (!status.ok()) return status;
  return LaunchKernel(queue, *Gradients().default_value.Find(type), {.global = 1}, *sums,
                      of_default.untyped_data(), chunks.count);
}

}  // namespace

XLA_FFI_Error* FillEmptyRowsHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<Fill, 5>(frame);
}

XLA_FFI_Error* FillEmptyRowsGradHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<FillGrad, 2>(frame);
}

std::vector<std::string> FillEmptyRowsGradTypes() { return Gradients().values.TypeNames(); }

}  // namespace onexpu
