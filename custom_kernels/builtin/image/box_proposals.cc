#include "custom_kernels/builtin/image/box_proposals.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/sort/radix_sort.h"
#include "custom_kernels/builtin/support/call_handler.h"
#include "custom_kernels/builtin/support/chunks.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/launch_kernel.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> BoxProposalsKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

// As box_proposals.cpp declares it.
struct ProposalSizes {
  int64_t boxes, candidates, most;
  float threshold, min_size;
};

constexpr int kScoreBits = 32;
constexpr char kName[] = "box proposals";

absl::Status Propose(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                     const ffi::AnyBuffer& scores, const ffi::AnyBuffer& deltas,
                     const ffi::AnyBuffer& images, const ffi::AnyBuffer& anchors,
                     const ffi::AnyBuffer& rois, const ffi::AnyBuffer& probabilities,
                     float threshold, float min_size, int64_t pre_nms_topn) {
  static SpirvModule& order = *MakeModule(BoxProposalsKernels(), "proposal_order").release();
  static SpirvModule& select = *MakeModule(BoxProposalsKernels(), "proposal_select").release();
  const auto is = [](const ffi::AnyBuffer& buffer, std::initializer_list<int64_t> dimensions) {
    const auto found = buffer.dimensions();
    return buffer.element_type() == ffi::F32 &&
           std::equal(found.begin(), found.end(), dimensions.begin(), dimensions.end());
  };
  bool fits = scores.element_type() == ffi::F32 && scores.dimensions().size() == 4 &&
              probabilities.dimensions().size() == 2;
  if (fits) {
    const auto of = scores.dimensions();
    const int64_t most = probabilities.dimensions()[1];
    fits = is(deltas, {of[0], of[1], of[2], 4 * of[3]}) && is(images, {of[0], 5}) &&
           is(anchors, {of[1], of[2], 4 * of[3]}) && is(rois, {of[0], most, 4}) &&
           is(probabilities, {of[0], most});
  }
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: ", kName, ": scores ", DescribeBuffer(scores), ", deltas ",
                     DescribeBuffer(deltas), ", anchors ", DescribeBuffer(anchors), " and images ",
                     DescribeBuffer(images), " do not make boxes ", DescribeBuffer(rois)));
  }
  if (rois.element_count() == 0) return absl::OkStatus();
  if (scores.element_count() == 0) {
    queue.memset(rois.untyped_data(), 0, rois.size_bytes());
    queue.memset(probabilities.untyped_data(), 0, probabilities.size_bytes());
    return absl::OkStatus();
  }
  const int64_t image_count = scores.dimensions()[0];
  const auto all = static_cast<int64_t>(scores.element_count());
  ProposalSizes sizes = {.boxes = all / image_count,
                         .most = probabilities.dimensions()[1],
                         .threshold = threshold,
                         .min_size = min_size};
  sizes.candidates = std::min(sizes.boxes, pre_nms_topn);
  absl::StatusOr<void*> numbers = AllocateScratch(scratch, all * sizeof(uint64_t), kName);
  if (!numbers.ok()) return numbers.status();
  absl::Status status = LaunchKernel(queue, order, {.global = static_cast<size_t>(all)},
                                     scores.untyped_data(), *numbers, sizes);
  if (!status.ok()) return status;
  absl::StatusOr<SortedNumbers> sorted = SortWithPlaces(
      queue, scratch, static_cast<uint64_t*>(*numbers), all, kScoreBits + BitsFor(image_count));
  if (!sorted.ok()) return sorted.status();
  const size_t local = ReductionGroupSize(queue);
  return LaunchKernel(queue, select, {.global = image_count * local, .local = local},
                      scores.untyped_data(), deltas.untyped_data(), images.untyped_data(),
                      anchors.untyped_data(), sorted->places, rois.untyped_data(),
                      probabilities.untyped_data(), sizes);
}

}  // namespace

XLA_FFI_Error* BoxProposalsHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<Propose, 2>(frame, "nms_threshold", "min_size", "pre_nms_topn");
}

}  // namespace onexpu
