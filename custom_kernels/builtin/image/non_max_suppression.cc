#include "custom_kernels/builtin/image/non_max_suppression.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/sort/radix_sort.h"
#include "custom_kernels/builtin/support/call_handler.h"
#include "custom_kernels/builtin/support/chunks.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/launch_kernel.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> NonMaxSuppressionKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

// As non_max_suppression.cpp declares it.
struct SuppressionSizes {
  int64_t boxes, most;
  float iou_threshold, score_threshold;
};

constexpr int kScoreBits = 32;

absl::Status Suppress(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                      const ffi::AnyBuffer& boxes, const ffi::AnyBuffer& scores,
                      const ffi::AnyBuffer& selected, const ffi::AnyBuffer& count,
                      const ffi::AnyBuffer& host_count, float iou_threshold,
                      float score_threshold) {
  static SpirvModule* const order =
      MakeModule(NonMaxSuppressionKernels(), "suppression_order").release();
  static SpirvModule* const select =
      MakeModule(NonMaxSuppressionKernels(), "suppression_select").release();
  const auto is = [](const ffi::AnyBuffer& buffer, ffi::DataType type, size_t rank) {
    return buffer.element_type() == type && buffer.dimensions().size() == rank;
  };
  const bool fits = is(boxes, ffi::F32, 2) && is(scores, ffi::F32, 1) &&
                    boxes.dimensions()[1] == 4 && boxes.dimensions()[0] == scores.dimensions()[0] &&
                    is(selected, ffi::S32, 1) && is(count, ffi::S32, 0) &&
                    is(host_count, ffi::S64, 1) && host_count.element_count() == 1;
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat(
        "onexpu: non-maximum suppression of boxes ", DescribeBuffer(boxes), " with scores ",
        DescribeBuffer(scores), " does not fit into ", DescribeBuffer(selected)));
  }
  const SuppressionSizes sizes = {scores.dimensions()[0], selected.dimensions()[0], iou_threshold,
                                  score_threshold};
  absl::StatusOr<void*> numbers =
      AllocateScratch(scratch, sizes.boxes * sizeof(uint64_t), "non-maximum suppression");
  if (!numbers.ok()) return numbers.status();
  absl::StatusOr<void*> taken =
      AllocateScratch(scratch, sizes.most * 4 * sizeof(float), "non-maximum suppression");
  if (!taken.ok()) return taken.status();
  absl::Status status = LaunchKernel(queue, *order, {.global = static_cast<size_t>(sizes.boxes)},
                                     scores.untyped_data(), *numbers, sizes);
  if (!status.ok()) return status;
  absl::StatusOr<SortedNumbers> sorted =
      SortWithPlaces(queue, scratch, static_cast<uint64_t*>(*numbers), sizes.boxes, kScoreBits);
  if (!sorted.ok()) return sorted.status();
  const size_t local = ReductionGroupSize(queue);
  return LaunchKernel(queue, *select, {.global = local, .local = local}, boxes.untyped_data(),
                      sorted->numbers, sorted->places, *taken, selected.untyped_data(),
                      count.untyped_data(), host_count.untyped_data(), sizes);
}

}  // namespace

XLA_FFI_Error* NonMaxSuppressionHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<Suppress, 3>(frame, "iou_threshold", "score_threshold");
}

}  // namespace onexpu
