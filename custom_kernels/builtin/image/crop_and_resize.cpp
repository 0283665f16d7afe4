// Crops of images at boxes, resized: TensorFlow's CropAndResize and its two gradients. Kernel
// source: built by sycl_kernels, see BUILD.
//
// Coordinates are normalised to the image, and computed in the order of operations that
// TensorFlow's CPU kernel uses, so that a sample on the border falls on the same side. A box whose
// index is outside of the batch samples nothing: its crop is all extrapolation value and its
// gradients are zero. Nothing is atomic: results do not depend on the order of work-items.

struct CropSizes {
  std::int32_t batch, image_height, image_width, depth;
  std::int32_t boxes, crop_height, crop_width;
  std::int32_t nearest;
  std::int32_t piece_height, piece_width, piece_depth;  // of an image's gradient, for a work-item
  std::int32_t rows;                                    // of crops, for a work-item of a CPU
};

namespace {

// Where the rows or columns of a crop sample the image.
struct Steps {
  float start, step;

  Steps(float first, float last, int image_size, int crop_size) {
    const bool is_one = crop_size == 1;
    const float size = float(image_size - 1);
    start = is_one ? 0.5f * (first + last) * size : first * size;
    step = is_one ? 0.0f : (last - first) * size / float(crop_size - 1);
  }
  float at(int position) const { return start + float(position) * step; }
};

inline float sample(float first, float last, int image_size, int crop_size, int position) {
  return Steps(first, last, image_size, crop_size).at(position);
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
             sizes.depth +
         sample.channel;
}

inline Corners corners(const Sample& sample, const CropSizes& sizes) {
  const float top = sycl::floor(sample.in_y);
  const float left = sycl::floor(sample.in_x);
  const int y0 = int(top), y1 = int(sycl::ceil(sample.in_y));
  const int x0 = int(left), x1 = int(sycl::ceil(sample.in_x));
  return {pixel(sample, sizes, y0, x0),
          pixel(sample, sizes, y0, x1),
          pixel(sample, sizes, y1, x0),
          pixel(sample, sizes, y1, x1),
          sample.in_y - top,
          sample.in_x - left};
}

inline std::size_t nearest_pixel(const Sample& sample, const CropSizes& sizes) {
  return pixel(sample, sizes, int(sycl::round(sample.in_y)), int(sycl::round(sample.in_x)));
}

// Some channels of a sample, side by side, from pixels of the rows above and below it.
template <int width, typename T>
inline void blend(const T* top_row, const T* bottom_row, std::size_t left, std::size_t right,
                  float y, float x, float* crop) {
  using Vector = onexpu::vector<float, width>;
  const Vector top_left = onexpu::load<float, width>(top_row + left);
  const Vector bottom_left = onexpu::load<float, width>(bottom_row + left);
  const Vector top = top_left + (onexpu::load<float, width>(top_row + right) - top_left) * x;
  const Vector bottom =
      bottom_left + (onexpu::load<float, width>(bottom_row + right) - bottom_left) * x;
  onexpu::store<float, width>(top + (bottom - top) * y, crop);
}

// Calls `tile` with its number of channels and the first of them, for all channels from `first` on.
template <typename Tile>
inline void for_channels(int first, int last, const Tile& tile) {
  for (; first + 16 <= last; first += 16) tile(std::integral_constant<int, 16>(), first);
  for (; first + 4 <= last; first += 4) tile(std::integral_constant<int, 4>(), first);
  for (; first < last; ++first) tile(std::integral_constant<int, 1>(), first);
}

template <int width, typename T>
inline void add(onexpu::vector<float, width> terms, T* sums) {
  if constexpr (width == 1) {
    *sums += T(terms);
  } else {
    const auto wide = __builtin_convertvector(terms, onexpu::vector<T, width>);
    onexpu::store<T, width>(onexpu::load<T, width>(sums) + wide, sums);
  }
}

template <int width>
inline float sum(onexpu::vector<float, width> terms) {
  if constexpr (width == 1) {
    return terms;
  } else {
    return sum<width / 2>(terms.lo) + sum<width / 2>(terms.hi);
  }
}

struct Range {
  int begin, end;
};

// Which positions of a crop may sample within a pixel's distance of `low` to `high`.
inline Range near(const Steps& steps, int crop_size, int low, int high) {
  const float a = (float(low) - 1.0f - steps.start) / steps.step;
  const float b = (float(high) + 1.0f - steps.start) / steps.step;
  // Rounding may have moved either by a position.
  const float begin = sycl::fmin(a, b) - 1.0f, end = sycl::fmax(a, b) + 2.0f;
  const float most = float(crop_size);
  if (!(sycl::fabs(begin) < 1e9f && sycl::fabs(end) < 1e9f)) return {0, crop_size};
  return {int(sycl::fmin(sycl::fmax(begin, 0.0f), most)),
          int(sycl::fmin(sycl::fmax(end, 0.0f), most))};
}

// The two pixels that a sample lies between, and what each counts; the nearest one twice, of which
// the second does not count.
struct Neighbours {
  int pixels[2];
  float shares[2];
  int count;
};

inline Neighbours neighbours(float coordinate, const CropSizes& sizes) {
  if (sizes.nearest != 0) {
    const int pixel = int(sycl::round(coordinate));
    return {{pixel, pixel}, {1.0f, 0.0f}, 1};
  }
  const float below = sycl::floor(coordinate);
  const float share = coordinate - below;
  return {{int(below), int(sycl::ceil(coordinate))}, {1.0f - share, share}, 2};
}

// Which of them are within `first` to `last`.
inline Range within(const Neighbours& neighbours, int first, int last) {
  if (neighbours.pixels[1] < first || neighbours.pixels[0] > last) return {0, 0};
  return {neighbours.pixels[0] < first ? 1 : 0, neighbours.pixels[1] > last ? 1 : neighbours.count};
}

}  // namespace

// A work-group: is an index outside of the batch, is a coordinate not finite.
ONEXPU_KERNEL void crop_and_resize_check(const float* boxes, const std::int32_t* box_index,
                                         std::int64_t* verdict, std::int64_t count,
                                         std::int64_t batch) {
  const auto item = onexpu::item();
  bool is_outside = false, is_finite = true;
  for (std::int64_t box = item.get_local_id(0); box < count; box += item.get_local_range(0)) {
    is_outside |= box_index[box] < 0 || box_index[box] >= batch;
    for (int i = 0; i < 4; ++i) is_finite &= bool(sycl::isfinite(boxes[4 * box + i]));
  }
  const auto group = item.get_group();
  is_outside = sycl::any_of_group(group, is_outside);
  is_finite = sycl::all_of_group(group, is_finite);
  if (item.get_local_id(0) != 0) return;
  verdict[0] = is_outside;
  verdict[1] = !is_finite;
}

// A GPU's: a work-item per element of the crops.
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

// A CPU's: a work-item per some rows of crops.
template <typename T>
ONEXPU_KERNEL void crop_and_resize_rows(const T* image, const float* boxes,
                                        const std::int32_t* box_index, float* crops,
                                        CropSizes sizes, float extrapolation_value) {
  const std::int64_t rows = std::int64_t(sizes.boxes) * sizes.crop_height;
  const std::int64_t first_row = std::int64_t(onexpu::global_id()) * sizes.rows;
  const std::int64_t last_row = sycl::min(first_row + sizes.rows, rows);
  const std::size_t crop_row = std::size_t(sizes.crop_width) * sizes.depth;
  for (std::int64_t row = first_row; row < last_row; ++row) {
    float* crop = crops + std::size_t(row) * crop_row;
    const Sample at = locate(std::size_t(row) * crop_row, boxes, box_index, sizes);
    if (at.image < 0 || at.image >= sizes.batch || !inside(at.in_y, sizes.image_height)) {
      for (std::size_t i = 0; i < crop_row; ++i) crop[i] = extrapolation_value;
      continue;
    }
    const float top = sycl::floor(at.in_y);
    const bool is_nearest = sizes.nearest != 0;
    const T* const top_row =
        image + pixel(at, sizes, is_nearest ? int(sycl::round(at.in_y)) : int(top), 0);
    const T* const bottom_row = image + pixel(at, sizes, int(sycl::ceil(at.in_y)), 0);
    const float* const box = boxes + 4 * std::size_t(at.box);
    const Steps steps(box[1], box[3], sizes.image_width, sizes.crop_width);
    for (int x = 0; x < sizes.crop_width; ++x, crop += sizes.depth) {
      const float in_x = steps.at(x);
      if (!inside(in_x, sizes.image_width)) {
        for (int c = 0; c < sizes.depth; ++c) crop[c] = extrapolation_value;
        continue;
      }
      if (is_nearest) {
        const T* const from = top_row + std::size_t(int(sycl::round(in_x))) * sizes.depth;
        for (int c = 0; c < sizes.depth; ++c) crop[c] = float(from[c]);
        continue;
      }
      const float left = sycl::floor(in_x);
      const std::size_t from_left = std::size_t(int(left)) * sizes.depth;
      const std::size_t from_right = std::size_t(int(sycl::ceil(in_x))) * sizes.depth;
      for_channels(0, sizes.depth, [&](auto width, int first) {
        blend<decltype(width)::value>(top_row + first, bottom_row + first, from_left, from_right,
                                      at.in_y - top, in_x - left, crop + first);
      });
    }
  }
}

// A work-item per piece of the image's gradient: of each pixel, the samples beside it are summed up
// in the order of boxes, rows and columns.
template <typename T>
ONEXPU_KERNEL void crop_and_resize_grad_image(const float* gradient, const float* boxes,
                                              const std::int32_t* box_index, T* image_gradient,
                                              CropSizes sizes) {
  const int depth_pieces = (sizes.depth + sizes.piece_depth - 1) / sizes.piece_depth;
  const int width_pieces = (sizes.image_width + sizes.piece_width - 1) / sizes.piece_width;
  const int height_pieces = (sizes.image_height + sizes.piece_height - 1) / sizes.piece_height;
  std::size_t id = onexpu::global_id();
  const int first_channel = int(id % depth_pieces) * sizes.piece_depth;
  const int last_channel = sycl::min(first_channel + sizes.piece_depth, sizes.depth);
  id /= depth_pieces;
  const int first_x = int(id % width_pieces) * sizes.piece_width;
  const int last_x = sycl::min(first_x + sizes.piece_width, sizes.image_width) - 1;
  id /= width_pieces;
  const int first_y = int(id % height_pieces) * sizes.piece_height;
  const int last_y = sycl::min(first_y + sizes.piece_height, sizes.image_height) - 1;
  const int batch = int(id / height_pieces);
  const std::size_t image_row = std::size_t(sizes.image_width) * sizes.depth;
  T* const image = image_gradient + std::size_t(batch) * sizes.image_height * image_row;
  for (int y = first_y; y <= last_y; ++y) {
    for (int x = first_x; x <= last_x; ++x) {
      T* const pixel = image + y * image_row + std::size_t(x) * sizes.depth;
      for_channels(first_channel, last_channel, [&](auto width, int first) {
        constexpr int kWidth = decltype(width)::value;
        onexpu::store<T, kWidth>(onexpu::vector<T, kWidth>(T(0)), pixel + first);
      });
    }
  }
  for (int b = 0; b < sizes.boxes; ++b) {
    if (box_index[b] != batch) continue;
    const float* box = boxes + 4 * std::size_t(b);
    const Steps y_steps(box[0], box[2], sizes.image_height, sizes.crop_height);
    const Steps x_steps(box[1], box[3], sizes.image_width, sizes.crop_width);
    const Range ys = near(y_steps, sizes.crop_height, first_y, last_y);
    const Range xs = near(x_steps, sizes.crop_width, first_x, last_x);
    for (int crop_y = ys.begin; crop_y < ys.end; ++crop_y) {
      const float in_y = y_steps.at(crop_y);
      if (!inside(in_y, sizes.image_height)) continue;
      const Neighbours rows = neighbours(in_y, sizes);
      const Range own_rows = within(rows, first_y, last_y);
      const float* const crop_row =
          gradient + (std::size_t(b) * sizes.crop_height + crop_y) * sizes.crop_width * sizes.depth;
      for (int crop_x = xs.begin; crop_x < xs.end; ++crop_x) {
        const float in_x = x_steps.at(crop_x);
        if (!inside(in_x, sizes.image_width)) continue;
        const Neighbours columns = neighbours(in_x, sizes);
        const Range own_columns = within(columns, first_x, last_x);
        const float* const slopes = crop_row + std::size_t(crop_x) * sizes.depth;
        for_channels(first_channel, last_channel, [&](auto width, int first) {
          constexpr int kWidth = decltype(width)::value;
          const auto slope = onexpu::load<float, kWidth>(slopes + first);
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            if (i < own_rows.begin || i >= own_rows.end) continue;
            T* const row = image + rows.pixels[i] * image_row + first;
            const auto share = rows.shares[i] * slope;
#pragma unroll
            for (int j = 0; j < 2; ++j) {
              if (j < own_columns.begin || j >= own_columns.end) continue;
              add<kWidth>(columns.shares[j] * share,
                          row + std::size_t(columns.pixels[j]) * sizes.depth);
            }
          }
        });
      }
    }
  }
}

// Half the precision, after the sums were made in single.
ONEXPU_KERNEL void crop_and_resize_round(const float* sums, sycl::half* image_gradient) {
  const std::size_t index = onexpu::global_id();
  image_gradient[index] = sycl::half(sums[index]);
}

// A GPU's: a work-group per box.
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
    const float dy =
        value * ((1.0f - c.x) * (bottom_left - top_left) + c.x * (bottom_right - top_right));
    const float dx =
        value * ((1.0f - c.y) * (top_right - top_left) + c.y * (bottom_right - bottom_left));
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

// A CPU's: a work-item per box.
template <typename T>
ONEXPU_KERNEL void crop_and_resize_grad_boxes_rows(const float* gradient, const T* image,
                                                   const float* boxes,
                                                   const std::int32_t* box_index,
                                                   float* boxes_gradient, CropSizes sizes) {
  const std::size_t box = onexpu::global_id();
  const std::size_t crop_row = std::size_t(sizes.crop_width) * sizes.depth;
  const bool tall = sizes.crop_height > 1, wide = sizes.crop_width > 1;
  const float y_ratio = tall ? float(sizes.image_height - 1) / float(sizes.crop_height - 1) : 0.0f;
  const float x_ratio = wide ? float(sizes.image_width - 1) / float(sizes.crop_width - 1) : 0.0f;
  float dy1 = 0.0f, dx1 = 0.0f, dy2 = 0.0f, dx2 = 0.0f;
  for (int y = 0; y < sizes.crop_height; ++y) {
    const std::size_t row = (box * sizes.crop_height + y) * crop_row;
    Sample at = locate(row, boxes, box_index, sizes);
    if (at.image < 0 || at.image >= sizes.batch || !inside(at.in_y, sizes.image_height)) continue;
    const float y_share = tall ? float(y) * y_ratio : 0.5f * float(sizes.image_height - 1);
    const float y_rest = float(sizes.image_height - 1) - y_share;
    for (int x = 0; x < sizes.crop_width; ++x) {
      at.in_x =
          sample(boxes[4 * box + 1], boxes[4 * box + 3], sizes.image_width, sizes.crop_width, x);
      if (!inside(at.in_x, sizes.image_width)) continue;
      const float x_share = wide ? float(x) * x_ratio : 0.5f * float(sizes.image_width - 1);
      const float x_rest = float(sizes.image_width - 1) - x_share;
      const Corners corner = corners(at, sizes);
      const float* const slopes = gradient + row + std::size_t(x) * sizes.depth;
      float dy = 0.0f, dx = 0.0f;
      for_channels(0, sizes.depth, [&](auto width, int first) {
        constexpr int kWidth = decltype(width)::value;
        const auto top_left = onexpu::load<float, kWidth>(image + corner.top_left + first);
        const auto top_right = onexpu::load<float, kWidth>(image + corner.top_right + first);
        const auto bottom_left = onexpu::load<float, kWidth>(image + corner.bottom_left + first);
        const auto bottom_right = onexpu::load<float, kWidth>(image + corner.bottom_right + first);
        const auto slope = onexpu::load<float, kWidth>(slopes + first);
        dy += sum<kWidth>(slope * ((1.0f - corner.x) * (bottom_left - top_left) +
                                   corner.x * (bottom_right - top_right)));
        dx += sum<kWidth>(slope * ((1.0f - corner.y) * (top_right - top_left) +
                                   corner.y * (bottom_right - bottom_left)));
      });
      dy1 += dy * y_rest;
      dy2 += dy * y_share;
      dx1 += dx * x_rest;
      dx2 += dx * x_share;
    }
  }
  boxes_gradient[4 * box + 0] = dy1;
  boxes_gradient[4 * box + 1] = dx1;
  boxes_gradient[4 * box + 2] = dy2;
  boxes_gradient[4 * box + 3] = dx2;
}
