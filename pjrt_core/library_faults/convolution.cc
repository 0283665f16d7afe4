#include "pjrt_core/library_faults/convolution.h"

#include <algorithm>

namespace onexpu::library_faults {
namespace {

// Whether start + i * step lies in [0, size) for some i of [0, count). Constant time: the sizes are
// those of the caller's arrays.
bool MeetsRange(int64_t start, int64_t step, int64_t count, int64_t size) {
  const int64_t first = start >= 0 ? 0 : (-start + step - 1) / step;
  return first < count && start + first * step < size;
}

}  // namespace

bool HasPaddingOnlyPosition(const WindowDimension& d) {
  // A window that starts inside the source meets it, so only those before and behind are examined.
  // Below -reach no tap gets there; between, a dilated kernel may step over a short source.
  const int64_t inside_from = std::min(d.destination, (d.padding_low + d.stride - 1) / d.stride);
  for (int64_t position = 0; position < inside_from; ++position) {
    if (!MeetsRange(position * d.stride - d.padding_low, d.dilation, d.kernel, d.source)) {
      return true;
    }
  }
  return (d.destination - 1) * d.stride - d.padding_low >= d.source;
}

bool HasPaddingOnlyTap(const WindowDimension& d) {
  for (int64_t tap = 0; tap < d.kernel; ++tap) {
    if (!MeetsRange(tap * d.dilation - d.padding_low, d.stride, d.destination, d.source)) {
      return true;
    }
  }
  return false;
}

}  // namespace onexpu::library_faults
