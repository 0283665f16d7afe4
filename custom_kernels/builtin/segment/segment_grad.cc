#include "custom_kernels/builtin/segment/segment_grad.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/segment/runs.h"
#include "custom_kernels/builtin/sort/radix_sort.h"
#include "custom_kernels/builtin/support/call_handler.h"
#include "custom_kernels/builtin/support/chunks.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/builtin/support/schedule.h"
#include "custom_kernels/launch_kernel.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> SegmentGradKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

// As segment_grad.cpp declares it.
struct SegmentGradSizes {
  int64_t elements, rows, segments, columns, chunk, piece, pieces;
  int32_t indices_are_wide, segments_are_wide, combiner, padding;
};

// Numbered as in segment_grad.cpp.
constexpr std::string_view kCombiners[] = {"sum", "mean", "sqrtn"};
constexpr char kName[] = "segment gradients";

const KernelTable& Kernels() {
  static const auto* const table = new KernelTable(SegmentGradKernels(), "segment_grad");
  return *table;
}

absl::StatusOr<SegmentGradSizes> SizesOf(const ffi::AnyBuffer& slopes,
                                         const ffi::AnyBuffer& indices,
                                         const ffi::AnyBuffer& segments,
                                         const ffi::AnyBuffer& result, const ffi::AnyBuffer& rows,
                                         const ffi::AnyBuffer& verdict) {
  const auto of_slopes = slopes.dimensions(), of_result = result.dimensions();
  const int64_t elements = static_cast<int64_t>(indices.element_count());
  const auto is_number = [&](const ffi::AnyBuffer& buffer) {
    return buffer.dimensions().size() == 1 && buffer.dimensions()[0] == elements &&
           (buffer.element_type() == ffi::S32 || buffer.element_type() == ffi::S64);
  };
  const bool fits = elements > 0 && is_number(indices) && is_number(segments) && is_number(rows) &&
                    rows.element_type() == indices.element_type() && of_slopes.size() > 0 &&
                    of_slopes.size() == of_result.size() && of_result[0] == elements &&
                    std::equal(of_slopes.begin() + 1, of_slopes.end(), of_result.begin() + 1) &&
                    slopes.element_type() == result.element_type() &&
                    verdict.element_type() == ffi::S64 && verdict.element_count() == 2;
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: ", kName, ": slopes ", DescribeBuffer(slopes), " of rows ",
                     DescribeBuffer(indices), " in segments ", DescribeBuffer(segments),
                     " do not become ", DescribeBuffer(result), " of ", DescribeBuffer(rows)));
  }
  SegmentGradSizes sizes = {};
  sizes.elements = elements;
  sizes.segments = of_slopes[0];
  sizes.columns = static_cast<int64_t>(result.element_count()) / elements;
  sizes.indices_are_wide = indices.element_type() == ffi::S64;
  sizes.segments_are_wide = segments.element_type() == ffi::S64;
  return sizes;
}

absl::Status Reduce(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                    const ffi::AnyBuffer& slopes, const ffi::AnyBuffer& indices,
                    const ffi::AnyBuffer& segments, const ffi::AnyBuffer& result,
                    const ffi::AnyBuffer& rows, const ffi::AnyBuffer& verdict, int64_t row_count,
                    std::string_view combiner) {
  static SpirvModule* const number_rows =
      MakeModule(SegmentGradKernels(), "segment_grad_rows").release();
  absl::StatusOr<SegmentGradSizes> sizes =
      SizesOf(slopes, indices, segments, result, rows, verdict);
  if (!sizes.ok()) return sizes.status();
  const auto* const known = std::find(std::begin(kCombiners), std::end(kCombiners), combiner);
  SpirvModule* const kernel = Kernels().Find(slopes.element_type());
  if (known == std::end(kCombiners) || kernel == nullptr) {
    return absl::UnimplementedError(absl::StrCat(
        "onexpu: ", kName, ": no kernel for ", DescribeBuffer(slopes), " and the combiner '",
        absl::string_view(combiner.data(), combiner.size()), "'"));
  }
  sizes->rows = row_count;
  sizes->combiner = static_cast<int32_t>(known - std::begin(kCombiners));
  sizes->piece = ColumnsPerWorkItem(queue, sizes->columns);
  sizes->pieces = std::max<int64_t>(1, (sizes->columns + sizes->piece - 1) / sizes->piece);

  absl::StatusOr<void*> numbers =
      AllocateScratch(scratch, sizes->elements * sizeof(uint64_t), kName);
  if (!numbers.ok()) return numbers.status();
  const size_t count_bytes = std::max<int64_t>(1, sizes->segments) * sizeof(int32_t);
  absl::StatusOr<void*> counts = AllocateScratch(scratch, count_bytes, kName);
  if (!counts.ok()) return counts.status();
  queue.memset(*counts, 0, count_bytes);
  queue.memset(verdict.untyped_data(), 0, verdict.size_bytes());
  absl::Status status = LaunchKernel(
      queue, *number_rows, {.global = static_cast<size_t>(sizes->elements)}, indices.untyped_data(),
      segments.untyped_data(), *numbers, *counts, verdict.untyped_data(), *sizes);
  if (!status.ok()) return status;
  absl::StatusOr<SortedNumbers> sorted =
      SortWithPlaces(queue, scratch, static_cast<uint64_t*>(*numbers), sizes->elements,
                     BitsFor(static_cast<uint64_t>(row_count) + 1));
  if (!sorted.ok()) return sorted.status();
  absl::StatusOr<Runs> runs =
      FindRuns(queue, scratch, sorted->numbers, sizes->elements, {}, verdict.untyped_data());
  if (!runs.ok()) return runs.status();
  const Chunks chunks = ChooseChunks(queue, sizes->elements, /*size_on_gpu=*/1);
  sizes->chunk = chunks.size;
  KernelRange range = chunks.range;
  range.global *= sizes->pieces;
  return LaunchKernel(queue, *kernel, range, slopes.untyped_data(), segments.untyped_data(),
                      *counts, sorted->numbers, sorted->places, runs->begins,
                      verdict.untyped_data(), result.untyped_data(), rows.untyped_data(), *sizes);
}

}  // namespace

XLA_FFI_Error* SegmentGradHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<Reduce, 3>(frame, "rows", "combiner");
}

std::vector<std::string> SegmentGradTypes() { return Kernels().TypeNames(); }

}  // namespace onexpu
