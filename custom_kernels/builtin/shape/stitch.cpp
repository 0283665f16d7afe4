// Rows of several arrays, merged by index. Kernel source: built by sycl_kernels, see BUILD.

#include "custom_kernels/builtin/support/bits128.hpp"

// Some of the arrays: their addresses, and the position of the first row of each in the
// concatenation of all arrays.
struct StitchSources {
  std::uint64_t data[16];
  std::uint32_t begins[16];
};

struct StitchSizes {
  std::int64_t rows, columns;
  std::int64_t chunk, piece;   // rows and columns of a work-item
  std::int64_t pieces;         // of a row
  std::uint32_t first, count;  // rows of these arrays in the concatenation
  std::int32_t sources;        // arrays
  std::int32_t writes_zeros;   // whether rows without a source are written, too
};

namespace {

constexpr std::uint32_t kNoSource = 0xffffffff;

// The row at `place` of the concatenation.
template <typename Bits>
const Bits* row_at(std::uint32_t place, const StitchSources& from, const StitchSizes& sizes) {
  std::int32_t source = 0;
  for (std::int32_t i = 1; i < sizes.sources; ++i) source += place >= from.begins[i] ? 1 : 0;
  return reinterpret_cast<const Bits*>(from.data[source]) +
         std::int64_t(place - from.begins[source]) * sizes.columns;
}

}  // namespace

// A work-item per chunk of rows of the result and piece of a row.
template <typename Bits>
ONEXPU_KERNEL void stitch_rows(const std::uint32_t* places, Bits* result, StitchSources from,
                               StitchSizes sizes) {
  const std::int64_t id = std::int64_t(onexpu::global_id());
  const std::int64_t chunk = sizes.pieces == 1 ? id : id / sizes.pieces;
  const std::int64_t first = (id - chunk * sizes.pieces) * sizes.piece;
  const std::int64_t last = sycl::min(first + sizes.piece, sizes.columns);
  const std::int64_t last_row = sycl::min((chunk + 1) * sizes.chunk, sizes.rows);
  for (std::int64_t row = chunk * sizes.chunk; row < last_row; ++row) {
    const std::uint32_t place = places[row];
    Bits* const to = result + row * sizes.columns;
    if (place == kNoSource) {
      if (!sizes.writes_zeros) continue;
      for (std::int64_t column = first; column < last; ++column) to[column] = Bits{};
    } else if (place - sizes.first < sizes.count) {
      const Bits* const data = row_at<Bits>(place, from, sizes);
      for (std::int64_t column = first; column < last; ++column) to[column] = data[column];
    }
  }
}

// A work-item per row of one column.
template <typename Bits>
ONEXPU_KERNEL void stitch_elements(const std::uint32_t* places, Bits* result, StitchSources from,
                                   StitchSizes sizes) {
  const std::int64_t i = std::int64_t(onexpu::global_id());
  const std::uint32_t place = places[i];
  if (place == kNoSource) {
    if (sizes.writes_zeros) result[i] = Bits{};
  } else if (place - sizes.first < sizes.count) {
    result[i] = *row_at<Bits>(place, from, sizes);
  }
}
