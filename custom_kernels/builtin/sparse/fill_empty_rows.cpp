// An element for every row that has none. Kernel source: built by sycl_kernels, see BUILD.
//
// Elements are sorted by their rows, stably, and merged with the rows: each row comes before its
// elements. A work-item takes a share of elements and rows together, as there may be many more of
// either, and counts the rows that begin in it; of the rows before a row, those that have not begun
// are empty, and each of them takes a place. Numbers of elements are less than 2^32.

#include "custom_kernels/builtin/support/bits128.hpp"
#include "custom_kernels/builtin/support/complex.hpp"

struct FillSizes {
  std::int64_t elements, rows, chunk;
  std::int64_t rank;
};

// What is in no row comes last.
ONEXPU_KERNEL void fill_rows(const std::int64_t* coordinates, std::uint64_t* numbers,
                             FillSizes sizes) {
  const std::int64_t i = std::int64_t(onexpu::global_id());
  const std::int64_t row = coordinates[i * sizes.rank];
  numbers[i] = std::uint64_t(row >= 0 && row < sizes.rows ? row : sizes.rows);
}

namespace {

// How far a merge is after some steps: the elements and rows that it has taken.
struct Merged {
  std::int64_t elements, rows;
};

// A merge path (Odeh et al., Merge path - parallel merging made simple, 2012).
inline Merged merged_after(const std::uint64_t* numbers, std::int64_t steps,
                           const FillSizes& sizes) {
  std::int64_t low = sycl::max(std::int64_t(0), steps - sizes.rows);
  std::int64_t high = sycl::min(steps, sizes.elements);
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (std::int64_t(numbers[middle]) >= steps - 1 - middle) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return {low, steps - low};
}

// The share of one work-item.
struct Share {
  Merged begin, end;
};
inline Share share_of(const std::uint64_t* numbers, std::int64_t id, const FillSizes& sizes) {
  const std::int64_t first = id * sizes.chunk, all = sizes.elements + sizes.rows;
  return {merged_after(numbers, first, sizes),
          merged_after(numbers, sycl::min(first + sizes.chunk, all), sizes)};
}

// Whether the last row of the share has its first element after the share.
inline bool begins_behind(const std::uint64_t* numbers, const Merged& end, const FillSizes& sizes) {
  return end.elements < sizes.elements && end.rows > 0 &&
         std::int64_t(numbers[end.elements]) == end.rows - 1;
}

}  // namespace

// A work-item per share.
ONEXPU_KERNEL void fill_count_rows(const std::uint64_t* numbers, std::int64_t* counts,
                                   FillSizes sizes) {
  const Share share = share_of(numbers, std::int64_t(onexpu::global_id()), sizes);
  std::int64_t row = share.begin.rows, count = 0;
  for (std::int64_t i = share.begin.elements; i < share.end.elements; ++i) {
    const std::int64_t here = std::int64_t(numbers[i]);
    count += here >= row && here < sizes.rows;
    row = sycl::max(row, here + 1);
  }
  count += row < share.end.rows && begins_behind(numbers, share.end, sizes);
  counts[onexpu::global_id()] = count;
}

// Likewise: moves elements and fills empty rows. Also how many elements there are then, and the
// first that is in no row.
template <typename Bits>
ONEXPU_KERNEL void fill_move(const std::int64_t* coordinates, const Bits* values,
                             const Bits* default_value, const std::uint64_t* numbers,
                             const std::uint32_t* places, const std::int64_t* begun_before,
                             std::int64_t* new_coordinates, Bits* new_values, bool* is_empty,
                             std::int64_t* moved_to, std::int64_t* verdict, FillSizes sizes) {
  const Share share = share_of(numbers, std::int64_t(onexpu::global_id()), sizes);
  const Bits filling = *default_value;
  std::int64_t row = share.begin.rows, begun = begun_before[onexpu::global_id()];
  const auto fill_up_to = [&](std::int64_t end, std::int64_t elements_before) {
    for (; row < end; ++row) {
      const std::int64_t place = elements_before + row - begun;
      new_coordinates[place * sizes.rank] = row;
      for (std::int64_t d = 1; d < sizes.rank; ++d) new_coordinates[place * sizes.rank + d] = 0;
      new_values[place] = filling;
      is_empty[row] = true;
    }
  };
  const auto begin_row = [&] {
    is_empty[row++] = false;
    ++begun;
  };
  for (std::int64_t i = share.begin.elements; i < share.end.elements; ++i) {
    const std::int64_t here = std::int64_t(numbers[i]);
    if (here >= row) {
      fill_up_to(here, i);
      if (here < sizes.rows) begin_row();
    }
    if (here == sizes.rows) {
      if (i > 0 && numbers[i - 1] == numbers[i]) return;
      verdict[0] = i + sizes.rows - begun;
      verdict[1] = std::int64_t(places[i]);
      return;
    }
    const std::int64_t from = places[i], to = i + here + 1 - begun;
    for (std::int64_t d = 0; d < sizes.rank; ++d)
      new_coordinates[to * sizes.rank + d] = coordinates[from * sizes.rank + d];
    new_values[to] = values[from];
    moved_to[from] = to;
  }
  const bool begins = row < share.end.rows && begins_behind(numbers, share.end, sizes);
  fill_up_to(share.end.rows - begins, share.end.elements);
  if (begins) begin_row();
  const bool is_all = share.end.elements == sizes.elements && share.end.rows == sizes.rows;
  if (is_all) {
    verdict[0] = sizes.elements + sizes.rows - begun;
    verdict[1] = -1;
  }
}

// A work-item per element of before. `is_taken` is zero before. A place that there is not is
// passed over, as by TensorFlow's GPU kernel.
template <typename T>
ONEXPU_KERNEL void fill_grad_values(const std::int64_t* moved_to, const T* slopes, T* result,
                                    std::uint8_t* is_taken, std::int64_t count) {
  const std::int64_t i = std::int64_t(onexpu::global_id());
  const std::int64_t place = moved_to[i];
  const bool exists = place >= 0 && place < count;
  result[i] = exists ? slopes[place] : T{};
  if (exists) is_taken[place] = 1;
}

// A work-item per chunk sums up what is not taken; then one sums up these sums.
template <typename T>
ONEXPU_KERNEL void fill_grad_sum(const T* slopes, const std::uint8_t* is_taken,
                                 onexpu::wide<T>* sums, std::int64_t count, std::int64_t chunk) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * chunk;
  const std::int64_t last = sycl::min(first + chunk, count);
  onexpu::wide<T> sum = {};
  for (std::int64_t i = first; i < last; ++i) {
    if (!is_taken[i]) sum += onexpu::wide<T>(slopes[i]);
  }
  sums[onexpu::global_id()] = sum;
}

template <typename T>
ONEXPU_KERNEL void fill_grad_default(const onexpu::wide<T>* sums, T* result, std::int64_t chunks) {
  onexpu::wide<T> sum = {};
  for (std::int64_t i = 0; i < chunks; ++i) sum += sums[i];
  *result = T(sum);
}
