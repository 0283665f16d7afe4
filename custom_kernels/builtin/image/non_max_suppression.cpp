// Non-maximum suppression of boxes. Kernel source: built by sycl_kernels, see BUILD.
//
// In the order of their scores, each box is held against all that were taken before it, which are
// few. That order is all there is of parallelism between boxes; the work-items of one group share
// the comparisons of one box.

#include "custom_kernels/builtin/image/boxes.hpp"

struct SuppressionSizes {
  std::int64_t boxes, most;
  float iou_threshold, score_threshold;
};

namespace {

constexpr std::uint64_t kNoCandidate = 0xffffffffu;  // behind every score

inline Box box_at(const float* boxes, std::int64_t i) {
  const float* const corners = boxes + 4 * i;
  return {sycl::fmin(corners[0], corners[2]), sycl::fmin(corners[1], corners[3]),
          sycl::fmax(corners[0], corners[2]), sycl::fmax(corners[1], corners[3])};
}

}  // namespace

// Numbers that ascend as scores descend.
ONEXPU_KERNEL void suppression_order(const float* scores, std::uint64_t* numbers,
                                     SuppressionSizes sizes) {
  const std::int64_t i = std::int64_t(onexpu::global_id());
  numbers[i] = scores[i] > sizes.score_threshold ? descending_bits(scores[i]) : kNoCandidate;
}

// One work-group. `taken` [most] is for its own use.
ONEXPU_KERNEL void suppression_select(const float* boxes, const std::uint64_t* numbers,
                                      const std::uint32_t* places, float* taken,
                                      std::int32_t* selected, std::int32_t* count,
                                      std::int64_t* host_count, SuppressionSizes sizes) {
  const auto item = onexpu::item();
  const auto group = item.get_group();
  const std::int64_t self = std::int64_t(item.get_local_id(0));
  const std::int64_t step = std::int64_t(item.get_local_range(0));
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < sizes.boxes && found < sizes.most; ++i) {
    if (numbers[i] == kNoCandidate) break;
    const Box box = box_at(boxes, places[i]);
    bool is_covered = false;
    for (std::int64_t j = self; j < found; j += step)
      is_covered = is_covered || overlap(box, box_at(taken, j)) > sizes.iou_threshold;
    if (sycl::any_of_group(group, is_covered)) continue;
    if (self == 0) {
      selected[found] = std::int32_t(places[i]);
      taken[4 * found] = box.top;
      taken[4 * found + 1] = box.left;
      taken[4 * found + 2] = box.bottom;
      taken[4 * found + 3] = box.right;
    }
    ++found;
    sycl::group_barrier(group);
  }
  for (std::int64_t j = found + self; j < sizes.most; j += step) selected[j] = 0;
  if (self == 0) {
    *count = std::int32_t(found);
    *host_count = found;
  }
}
