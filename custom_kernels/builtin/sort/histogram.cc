#include "custom_kernels/builtin/sort/histogram.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/support/call_handler.h"
#include "custom_kernels/builtin/support/chunks.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/builtin/support/schedule.h"
#include "custom_kernels/launch_kernel.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> HistogramKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

// As histogram.cpp declares it.
struct HistogramSizes {
  int64_t elements, bins, chunk, rows;
  int32_t counts_are_wide, measures_guesses;
};

// As histogram.cpp has it.
constexpr int64_t kRows = 2;

const KernelTable& Kernels() {
  static const auto* const table = new KernelTable(HistogramKernels(), "histogram_count");
  return *table;
}

absl::Status Count(sycl::queue& queue, ffi::ScratchAllocator& scratch, const ffi::AnyBuffer& values,
                   const ffi::AnyBuffer& edges, const ffi::AnyBuffer& histogram,
                   const ffi::AnyBuffer& not_numbers) {
  static SpirvModule* const sum = MakeModule(HistogramKernels(), "histogram_sum").release();
  const auto is_vector = [](const ffi::AnyBuffer& buffer) {
    return buffer.dimensions().size() == 1;
  };
  const bool fits =
      is_vector(values) && is_vector(edges) && is_vector(histogram) &&
      values.element_type() == edges.element_type() &&
      histogram.element_count() == edges.element_count() + 1 &&
      (histogram.element_type() == ffi::S32 || histogram.element_type() == ffi::S64) &&
      not_numbers.element_type() == ffi::S64 && not_numbers.element_count() == 1;
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat(
        "onexpu: histogram of ", DescribeBuffer(values), " by edges ", DescribeBuffer(edges),
        " does not fit into ", DescribeBuffer(histogram), " and ", DescribeBuffer(not_numbers)));
  }
  SpirvModule* const count = Kernels().Find(values.element_type());
  if (count == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("onexpu: histogram has no kernel for ", DescribeBuffer(values)));
  }
  HistogramSizes sizes = {};
  sizes.elements = static_cast<int64_t>(values.element_count());
  sizes.bins = static_cast<int64_t>(histogram.element_count());
  sizes.counts_are_wide = histogram.element_type() == ffi::S64;
  // Pays for long chunks.
  sizes.measures_guesses = HasCpuSchedules(queue);
  // At most as many counts as values.
  const Chunks chosen = ChooseChunks(queue, sizes.elements, /*size_on_gpu=*/256);
  const Chunks chunks = ChunksOf(queue, sizes.elements, std::max(chosen.size, sizes.bins));
  sizes.chunk = chunks.size;
  sizes.rows = kRows * chunks.count;
  absl::StatusOr<void*> counts =
      AllocateScratch(scratch, sizes.rows * (sizes.bins + 1) * sizeof(uint32_t), "histogram");
  if (!counts.ok()) return counts.status();
  const absl::Status status = LaunchKernel(queue, *count, chunks.range, values.untyped_data(),
                                           edges.untyped_data(), *counts, sizes);
  if (!status.ok()) return status;
  return LaunchKernel(queue, *sum, {.global = static_cast<size_t>(sizes.bins) + 1}, *counts,
                      histogram.untyped_data(), not_numbers.untyped_data(), sizes);
}

}  // namespace

XLA_FFI_Error* HistogramHandler(XLA_FFI_CallFrame* frame) { return CallHandler<Count, 2>(frame); }

std::vector<std::string> HistogramTypes() { return Kernels().TypeNames(); }

}  // namespace onexpu
