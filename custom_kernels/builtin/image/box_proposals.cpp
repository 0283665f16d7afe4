// Region proposals. Kernel source: built by sycl_kernels, see BUILD.
//
// In the order of their scores, each box is held against all that were taken before it, which are
// few. Images are parallel; the work-items of one group share the comparisons of one box.

#include "custom_kernels/builtin/image/boxes.hpp"

struct ProposalSizes {
  std::int64_t boxes, candidates, most;  // of an image
  float threshold, min_size;
};

namespace {

// As TensorFlow has it: a box is at most 1000 / 16 times as large as its anchor.
constexpr float kMaxLogarithm = 4.135166556742356f;

inline Box decode(const float* delta, const float* anchor, const float* image) {
  const float height = anchor[2] - anchor[0], width = anchor[3] - anchor[1];
  const float y = anchor[0] + 0.5f * height + height * delta[0];
  const float x = anchor[1] + 0.5f * width + width * delta[1];
  const float new_height = height * sycl::exp(sycl::fmin(delta[2], kMaxLogarithm));
  const float new_width = width * sycl::exp(sycl::fmin(delta[3], kMaxLogarithm));
  const auto clip = [](float value, float end) { return sycl::fmax(sycl::fmin(value, end), 0.0f); };
  return {clip(y - 0.5f * new_height, image[0]), clip(x - 0.5f * new_width, image[1]),
          clip(y + 0.5f * new_height, image[0]), clip(x + 0.5f * new_width, image[1])};
}

}  // namespace

// A work-item per box of all images. Numbers that ascend by image, and as scores descend.
ONEXPU_KERNEL void proposal_order(const float* scores, std::uint64_t* numbers,
                                  ProposalSizes sizes) {
  const std::int64_t i = std::int64_t(onexpu::global_id());
  numbers[i] = std::uint64_t(i / sizes.boxes) << 32 | descending_bits(scores[i]);
}

// A work-group per image.
ONEXPU_KERNEL void proposal_select(const float* scores, const float* deltas, const float* images,
                                   const float* anchors, const std::uint32_t* places, float* rois,
                                   float* probabilities, ProposalSizes sizes) {
  const auto item = onexpu::item();
  const auto group = item.get_group();
  const std::int64_t image = std::int64_t(group.get_group_id(0));
  const std::int64_t self = std::int64_t(item.get_local_id(0));
  const std::int64_t step = std::int64_t(item.get_local_range(0));
  const std::int64_t base = image * sizes.boxes;
  const float* const info = images + 5 * image;
  float* const taken = rois + image * sizes.most * 4;
  float* const taken_scores = probabilities + image * sizes.most;
  const float least = sizes.min_size * info[2];
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < sizes.candidates && found < sizes.most; ++i) {
    const std::int64_t place = places[base + i];
    const Box box = decode(deltas + 4 * place, anchors + 4 * (place - base), info);
    if (!(sycl::fmin(box.bottom - box.top, box.right - box.left) >= least)) continue;
    bool is_covered = false;
    for (std::int64_t j = self; j < found; j += step) {
      const float* const corners = taken + 4 * j;
      const Box other = {corners[0], corners[1], corners[2], corners[3]};
      is_covered = is_covered || overlap(box, other) > sizes.threshold;
    }
    if (sycl::any_of_group(group, is_covered)) continue;
    if (self == 0) {
      taken[4 * found] = box.top;
      taken[4 * found + 1] = box.left;
      taken[4 * found + 2] = box.bottom;
      taken[4 * found + 3] = box.right;
      taken_scores[found] = scores[place];
    }
    ++found;
    sycl::group_barrier(group);
  }
  for (std::int64_t j = found + self; j < sizes.most; j += step) {
    for (int corner = 0; corner < 4; ++corner) taken[4 * j + corner] = 0.0f;
    taken_scores[j] = 0.0f;
  }
}
