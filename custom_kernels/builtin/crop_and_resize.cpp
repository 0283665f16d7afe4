// Crops of images at boxes, resized: TensorFlow's CropAndResize and its two gradients. Kernel
// source: built by
// sycl_kernels, see BUILD.
//
// Coordinates are normalised to the image, and computed in the order of operations that
// TensorFlow's CPU kernel uses, so
// that a sample on the border falls on the same side. A box whose index is outside of the batch
// samples nothing: its crop
// is all extrapolation value and its gradients are zero.

struct CropSizes {
  std::int32_t batch, image_height, image_width, depth;
  std::int32_t boxes, crop_height, crop_width;
  std::int32_t nearest;
};

namespace {

// Where one row or column of a crop samples the image.
inline float sample(float first, float last, int image_size, int crop_size, int position) {
  if (crop_size == 1) return 0.5f * (first + last) * float(image_size - 1);
  const float scale = (last - first) * float(image_size - 1) / float(crop_size - 1);
  return first * float(image_size - 1) + float(position) * scale;
}

inline bool inside(float coordinate, int image_size) {
  return coordinate >= 0.0f && coordinate <= float(image_size - 1);  // false for NaN
}

// A crop's element: its position, and where it samples the image.
struct Sample {
  std::int32_t box, y, x, channel, image;
  float in_y, in_x;
  bool valid;
};

inline Sample locate(std::size_t index, const float* boxes, const std::int32_t* box_index,
                     const CropSizes& sizes) {
  Sample result;
  result.channel = std::int32_t(index % std::size_t(sizes.depth));
  index /= std::size_t(sizes.depth);
  result.x = std::int32_t(index % std::size_t(sizes.crop_width));
  index /= std::size_t(sizes.crop_width);
  result.y = std::int32_t(index % std::size_t(sizes.crop_height));
  result.box = std::int32_t(index / std::size_t(sizes.crop_height));
  result.image = box_index[result.box];
  const float* box = boxes + 4 * std::size_t(result.box);
  result.in_y = sample(box[0], box[2], sizes.image_height, sizes.crop_height, result.y);
  result.in_x = sample(box[1], box[3], sizes.image_width, sizes.crop_width, result.x);
  result.valid = result.image >= 0 && result.image < sizes.batch &&
                 inside(result.in_y, sizes.image_height) && inside(result.in_x, sizes.image_width);
  return result;
}

// The four pixels around a sample and its distance from the first of them.
struct Corners {
  std::size_t top_left, top_right, bottom_left, bottom_right;
  float y, x;
};

inline std::size_t pixel(const Sample& sample, const CropSizes& sizes, int y, int x) {
  return ((std::size_t(sample.image) * sizes.image_height + y) * sizes.image_width + x) *
             sizes.depth + sample.channel;
}

inline Corners corners(const Sample& sample, const CropSizes& sizes) {
  const float top = sycl::floor(sample.in_y);
  const float left = sycl::floor(sample.in_x);
  const int y0 = int(top), y1 = int(sycl::ceil(sample.in_y));
  const int x0 = int(left), x1 = int(sycl::ceil(sample.in_x));
  return {pixel(sample, sizes, y0, x0), pixel(sample, sizes, y0, x1),
          pixel(sample, sizes, y1, x0), pixel(sample, sizes, y1, x1),
          sample.in_y - top, sample.in_x - left};
}

inline std::size_t nearest_pixel(const Sample& sample, const CropSizes& sizes) {
  return pixel(sample, sizes, int(sycl::round(sample.in_y)), int(sycl::round(sample.in_x)));
}

template <typename T>
inline void add(T* target, float value) {
  sycl::atomic_ref<T, sycl::memory_order::relaxed, sycl::memory_scope::device,
                   sycl::access::address_space::global_space>
      element(*target);
  element.fetch_add(T(value));
}

}  // namespace

// One work-item per element of the crops.
template <typename T>
ONEXPU_KERNEL void crop_and_resize(const T* image, const float* boxes,
                                   const std::int32_t* box_index, float* crops, CropSizes sizes,
                                   float extrapolation_value) {
  const std::size_t index = onexpu::global_id();
  const Sample at = locate(index, boxes, box_index, sizes);
  if (!at.valid) {
    crops[index] = extrapolation_value;
    return;
  }
  if (sizes.nearest != 0) {
    crops[index] = float(image[nearest_pixel(at, sizes)]);
    return;
  }
  const Corners c = corners(at, sizes);
  const float top_left = float(image[c.top_left]);
  const float bottom_left = float(image[c.bottom_left]);
  const float top = top_left + (float(image[c.top_right]) - top_left) * c.x;
  const float bottom = bottom_left + (float(image[c.bottom_right]) - bottom_left) * c.x;
  crops[index] = top + (bottom - top) * c.y;
}

// One work-item per element of the crops; `image_gradient` is zero before.
template <typename T>
ONEXPU_KERNEL void crop_and_resize_grad_image(const float* gradient, const float* boxes,
                                              const std::int32_t* box_index, T* image_gradient,
                                              CropSizes sizes) {
  const std::size_t index = onexpu::global_id();
  const Sample at = locate(index, boxes, box_index, sizes);
  if (!at.valid) return;
  const float value = gradient[index];
  if (sizes.nearest != 0) {
    add(image_gradient + nearest_pixel(at, sizes), value);
    return;
  }
  const Corners c = corners(at, sizes);
  const float top = (1.0f - c.y) * value;
  const float bottom = c.y * value;
  add(image_gradient + c.top_left, (1.0f - c.x) * top);
  add(image_gradient + c.top_right, c.x * top);
  add(image_gradient + c.bottom_left, (1.0f - c.x) * bottom);
  add(image_gradient + c.bottom_right, c.x * bottom);
}

// Half the precision, after the sums were made in single.
ONEXPU_KERNEL void crop_and_resize_round(const float* sums, sycl::half* image_gradient) {
  const std::size_t index = onexpu::global_id();
  image_gradient[index] = sycl::half(sums[index]);
}

// One work-group per box: no atomics, and the same sum every time.
template <typename T>
ONEXPU_KERNEL void crop_and_resize_grad_boxes(const float* gradient, const T* image,
                                              const float* boxes, const std::int32_t* box_index,
                                              float* boxes_gradient, CropSizes sizes) {
  const auto item = onexpu::item();
  const std::size_t box = item.get_group(0);
  const std::size_t elements =
      std::size_t(sizes.crop_height) * sizes.crop_width * std::size_t(sizes.depth);
  const bool tall = sizes.crop_height > 1, wide = sizes.crop_width > 1;
  const float y_ratio = tall ? float(sizes.image_height - 1) / float(sizes.crop_height - 1) : 0.0f;
  const float x_ratio = wide ? float(sizes.image_width - 1) / float(sizes.crop_width - 1) : 0.0f;
  float dy1 = 0.0f, dx1 = 0.0f, dy2 = 0.0f, dx2 = 0.0f;
  for (std::size_t i = item.get_local_id(0); i < elements; i += item.get_local_range(0)) {
    const Sample at = locate(box * elements + i, boxes, box_index, sizes);
    if (!at.valid) continue;
    const Corners c = corners(at, sizes);
    const float top_left = float(image[c.top_left]), top_right = float(image[c.top_right]);
    const float bottom_left = float(image[c.bottom_left]);
    const float bottom_right = float(image[c.bottom_right]);
    const float value = gradient[box * elements + i];
    const float dy = value * ((1.0f - c.x) * (bottom_left - top_left) +
                              c.x * (bottom_right - top_right));
    const float dx = value * ((1.0f - c.y) * (top_right - top_left) +
                              c.y * (bottom_right - bottom_left));
    const float y_share = tall ? float(at.y) * y_ratio : 0.5f * float(sizes.image_height - 1);
    const float x_share = wide ? float(at.x) * x_ratio : 0.5f * float(sizes.image_width - 1);
    dy1 += dy * (float(sizes.image_height - 1) - y_share);
    dy2 += dy * y_share;
    dx1 += dx * (float(sizes.image_width - 1) - x_share);
    dx2 += dx * x_share;
  }
  const auto group = item.get_group();
  dy1 = sycl::reduce_over_group(group, dy1, sycl::plus<float>());
  dx1 = sycl::reduce_over_group(group, dx1, sycl::plus<float>());
  dy2 = sycl::reduce_over_group(group, dy2, sycl::plus<float>());
  dx2 = sycl::reduce_over_group(group, dx2, sycl::plus<float>());
  if (item.get_local_id(0) != 0) return;
  boxes_gradient[4 * box + 0] = dy1;
  boxes_gradient[4 * box + 1] = dx1;
  boxes_gradient[4 * box + 2] = dy2;
  boxes_gradient[4 * box + 3] = dx2;
}
