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

// Some channels of a sample, side by side.
template <int width, typename T>
inline void blend(const T* top_left, const T* top_right, const T* bottom_left,
                  const T* bottom_right, float y, float x, float* crop) {
  using Vector = onexpu::vector<float, width>;
  const Vector left = onexpu::load<float, width>(top_left);
  const Vector low_left = onexpu::load<float, width>(bottom_left);
  const Vector top = left + (onexpu::load<float, width>(top_right) - left) * x;
  const Vector bottom = low_left + (onexpu::load<float, width>(bottom_right) - low_left) * x;
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

// Which positions of a crop may sample within a pixel's distance of `low` to `high`.
struct Range {
  int begin, end;
};

inline Range near(float first, float last, int image_size, int crop_size, int low, int high) {
  const float start = sample(first, last, image_size, crop_size, 0);
  const float step = crop_size == 1 ? 0.0f : sample(first, last, image_size, crop_size, 1) - start;
  const float a = (float(low) - 1.0f - start) / step, b = (float(high) + 1.0f - start) / step;
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

}  // namespace

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

// A CPU's: a work-item per row of a crop.
template <typename T>
ONEXPU_KERNEL void crop_and_resize_rows(const T* image, const float* boxes,
                                        const std::int32_t* box_index, float* crops,
                                        CropSizes sizes, float extrapolation_value) {
  const std::size_t row = onexpu::global_id();
  const std::size_t crop_row = std::size_t(sizes.crop_width) * sizes.depth;
  float* crop = crops + row * crop_row;
  Sample at = locate(row * crop_row, boxes, box_index, sizes);
  const float* box = boxes + 4 * std::size_t(at.box);
  const bool has_row =
      at.image >= 0 && at.image < sizes.batch && inside(at.in_y, sizes.image_height);
  for (int x = 0; x < sizes.crop_width; ++x, crop += sizes.depth) {
    at.in_x = sample(box[1], box[3], sizes.image_width, sizes.crop_width, x);
    if (!has_row || !inside(at.in_x, sizes.image_width)) {
      for (int c = 0; c < sizes.depth; ++c) crop[c] = extrapolation_value;
      continue;
    }
    if (sizes.nearest != 0) {
      const T* const from = image + nearest_pixel(at, sizes);
      for (int c = 0; c < sizes.depth; ++c) crop[c] = float(from[c]);
      continue;
    }
    const Corners c = corners(at, sizes);
    for_channels(0, sizes.depth, [&](auto width, int first) {
      blend<decltype(width)::value>(image + c.top_left + first, image + c.top_right + first,
                                    image + c.bottom_left + first, image + c.bottom_right + first,
                                    c.y, c.x, crop + first);
    });
  }
}

// A work-item per piece of the image's gradient, which is zero before: of each pixel, the samples
// beside it are summed up in the order of boxes, rows and columns.
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
  T* const image =
      image_gradient + std::size_t(batch) * sizes.image_height * sizes.image_width * sizes.depth;
  for (int b = 0; b < sizes.boxes; ++b) {
    if (box_index[b] != batch) continue;
    const float* box = boxes + 4 * std::size_t(b);
    const Range ys = near(box[0], box[2], sizes.image_height, sizes.crop_height, first_y, last_y);
    const Range xs = near(box[1], box[3], sizes.image_width, sizes.crop_width, first_x, last_x);
    for (int crop_y = ys.begin; crop_y < ys.end; ++crop_y) {
      const float in_y = sample(box[0], box[2], sizes.image_height, sizes.crop_height, crop_y);
      if (!inside(in_y, sizes.image_height)) continue;
      const Neighbours rows = neighbours(in_y, sizes);
      if (rows.pixels[1] < first_y || rows.pixels[0] > last_y) continue;
      const float* const crop_row =
          gradient + (std::size_t(b) * sizes.crop_height + crop_y) * sizes.crop_width * sizes.depth;
      for (int crop_x = xs.begin; crop_x < xs.end; ++crop_x) {
        const float in_x = sample(box[1], box[3], sizes.image_width, sizes.crop_width, crop_x);
        if (!inside(in_x, sizes.image_width)) continue;
        const Neighbours columns = neighbours(in_x, sizes);
        const float* const slopes = crop_row + std::size_t(crop_x) * sizes.depth;
        for (int i = 0; i < rows.count; ++i) {
          const int y = rows.pixels[i];
          if (y < first_y || y > last_y) continue;
          for (int j = 0; j < columns.count; ++j) {
            const int x = columns.pixels[j];
            if (x < first_x || x > last_x) continue;
            T* const pixel = image + (std::size_t(y) * sizes.image_width + x) * sizes.depth;
            const float y_share = rows.shares[i], x_share = columns.shares[j];
            for_channels(first_channel, last_channel, [&](auto width, int first) {
              constexpr int kWidth = decltype(width)::value;
              const auto slope = onexpu::load<float, kWidth>(slopes + first);
              add<kWidth>(x_share * (y_share * slope), pixel + first);
            });
          }
        }
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
