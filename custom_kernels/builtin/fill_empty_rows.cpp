// An element for every row that has none. Kernel source: built by sycl_kernels, see BUILD.
//
// Elements are sorted by their rows, stably, and counted where a row begins: of the rows before a
// row, those that have not begun are empty, and each of them takes a place. Numbers of elements are
// less than 2^32.

#include "custom_kernels/builtin/bits128.hpp"
#include "custom_kernels/builtin/complex.hpp"

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

// A work-item per chunk of sorted elements: the rows that begin in it.
ONEXPU_KERNEL void fill_count_rows(const std::uint64_t* numbers, std::int64_t* counts,
                                   FillSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.elements);
  std::uint64_t before = first == 0 ? ~std::uint64_t(0) : numbers[first - 1];
  std::int64_t count = 0;
  for (std::int64_t i = first; i < last; ++i) {
    const std::uint64_t here = numbers[i];
    count += here != before && here < std::uint64_t(sizes.rows);
    before = here;
  }
  counts[onexpu::global_id()] = count;
}

// A work-item per chunk of sorted elements and one for their end: moves elements, and before each
// row's first one fills the empty rows between it and the row before. Also how many elements there
// are then, and the first that is in no row.
template <typename Bits>
ONEXPU_KERNEL void fill_move(const std::int64_t* coordinates, const Bits* values,
                             const Bits* default_value, const std::uint64_t* numbers,
                             const std::uint32_t* places, const std::int64_t* begun_before,
                             std::int64_t* new_coordinates, Bits* new_values, bool* is_empty,
                             std::int64_t* moved_to, std::int64_t* verdict, FillSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.elements + 1);
  std::int64_t before = first == 0 ? -1 : std::int64_t(numbers[first - 1]);
  std::int64_t begun = begun_before[onexpu::global_id()];
  const Bits filling = *default_value;
  for (std::int64_t i = first; i < last; ++i) {
    const std::int64_t here = i == sizes.elements ? sizes.rows : std::int64_t(numbers[i]);
    if (here != before) {
      for (std::int64_t row = before + 1; row < here; ++row) {
        const std::int64_t place = i + row - begun;
        new_coordinates[place * sizes.rank] = row;
        for (std::int64_t d = 1; d < sizes.rank; ++d) new_coordinates[place * sizes.rank + d] = 0;
        new_values[place] = filling;
        is_empty[row] = true;
      }
      if (here == sizes.rows) {
        verdict[0] = i + sizes.rows - begun;
        verdict[1] = i < sizes.elements ? std::int64_t(places[i]) : -1;
      } else {
        is_empty[here] = false;
        ++begun;
      }
      before = here;
    }
    if (here == sizes.rows) return;
    const std::int64_t from = places[i], to = i + here + 1 - begun;
    for (std::int64_t d = 0; d < sizes.rank; ++d)
      new_coordinates[to * sizes.rank + d] = coordinates[from * sizes.rank + d];
    new_values[to] = values[from];
    moved_to[from] = to;
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
