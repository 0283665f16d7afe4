#include "pjrt_core/runtime/buffer/host_layout.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace onexpu {
namespace {

struct Loop {
  int64_t size;
  int64_t destination_stride;
  int64_t source_stride;
};
using Loops = absl::InlinedVector<Loop, 6>;

// Outermost first, in the destination's order; neighbours that are contiguous on both sides become
// one.
Loops MakeLoops(absl::Span<const int64_t> destination_strides,
                absl::Span<const int64_t> source_strides, absl::Span<const int64_t> dimensions) {
  Loops loops;
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (dimensions[i] != 1) {
      loops.push_back({dimensions[i], destination_strides[i], source_strides[i]});
    }
  }
  std::sort(loops.begin(), loops.end(), [](const Loop& a, const Loop& b) {
    return std::abs(a.destination_stride) > std::abs(b.destination_stride);
  });
  Loops merged;
  for (const Loop& loop : loops) {
    if (!merged.empty()) {
      Loop& outer = merged.back();
      if (outer.destination_stride == loop.size * loop.destination_stride &&
          outer.source_stride == loop.size * loop.source_stride) {
        outer = {outer.size * loop.size, loop.destination_stride, loop.source_stride};
        continue;
      }
    }
    merged.push_back(loop);
  }
  return merged;
}

// Tiles keep both sides' cache lines in use until all of their bytes have been taken.
constexpr int64_t kTile = 32;

template <typename Element>
void CopyPlane(char* destination, const char* source, const Loop& outer, const Loop& inner) {
  for (int64_t i0 = 0; i0 < outer.size; i0 += kTile) {
    const int64_t i1 = std::min(i0 + kTile, outer.size);
    for (int64_t j0 = 0; j0 < inner.size; j0 += kTile) {
      const int64_t j1 = std::min(j0 + kTile, inner.size);
      for (int64_t i = i0; i < i1; ++i) {
        char* to = destination + i * outer.destination_stride + j0 * inner.destination_stride;
        const char* from = source + i * outer.source_stride + j0 * inner.source_stride;
        for (int64_t j = j0; j < j1; ++j) {
          std::memcpy(to, from, sizeof(Element));  // any alignment
          to += inner.destination_stride;
          from += inner.source_stride;
        }
      }
    }
  }
}

struct Bytes16 {
  char bytes[16];
};

using PlaneCopier = void (*)(char*, const char*, const Loop&, const Loop&);

PlaneCopier CopierOf(size_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return CopyPlane<uint8_t>;
    case 2:
      return CopyPlane<uint16_t>;
    case 4:
      return CopyPlane<uint32_t>;
    case 8:
      return CopyPlane<uint64_t>;
    default:
      return CopyPlane<Bytes16>;
  }
}

// Calls `copy` with the addresses of every combination of the loops.
template <typename Copy>
void ForEach(absl::Span<const Loop> loops, char* destination, const char* source, Copy& copy) {
  if (loops.empty()) return copy(destination, source);
  const Loop& loop = loops.front();
  for (int64_t i = 0; i < loop.size; ++i) {
    ForEach(loops.subspan(1), destination + i * loop.destination_stride,
            source + i * loop.source_stride, copy);
  }
}

}  // namespace

Dimensions DeviceByteStrides(const ArrayShape& shape) {
  Dimensions strides(shape.dimensions.size());
  int64_t stride = program::StorageBytes(shape.element_type);
  for (int64_t dimension : shape.minor_to_major) {
    strides[dimension] = stride;
    stride *= shape.dimensions[dimension];
  }
  return strides;
}

Dimensions HostByteStrides(const ArrayShape& shape, absl::Span<const int64_t> byte_strides) {
  if (!byte_strides.empty() || shape.dimensions.empty()) {
    return Dimensions(byte_strides.begin(), byte_strides.end());
  }
  return DeviceByteStrides(ArrayShape::RowMajor(shape.element_type, shape.dimensions));
}

bool IsDeviceLayout(const ArrayShape& shape, absl::Span<const int64_t> host_byte_strides) {
  if (shape.num_elements() <= 1) return true;
  const Dimensions device = DeviceByteStrides(shape);
  for (size_t i = 0; i < device.size(); ++i) {
    if (shape.dimensions[i] != 1 && device[i] != host_byte_strides[i]) return false;
  }
  return true;
}

bool IsSameLayout(const ArrayShape& a, const ArrayShape& b) {
  if (a.minor_to_major == b.minor_to_major) return true;
  return IsDeviceLayout(a, DeviceByteStrides(b));
}

void CopyStrided(void* destination, absl::Span<const int64_t> destination_strides,
                 const void* source, absl::Span<const int64_t> source_strides,
                 absl::Span<const int64_t> dimensions, size_t element_bytes) {
  if (std::find(dimensions.begin(), dimensions.end(), 0) != dimensions.end()) return;
  char* const to = static_cast<char*>(destination);
  const char* const from = static_cast<const char*>(source);
  Loops loops = MakeLoops(destination_strides, source_strides, dimensions);
  const int64_t element = static_cast<int64_t>(element_bytes);

  if (loops.empty() ||
      (loops.back().destination_stride == element && loops.back().source_stride == element)) {
    const size_t row = loops.empty() ? element_bytes : loops.back().size * element_bytes;
    if (!loops.empty()) loops.pop_back();
    auto copy_row = [row](char* d, const char* s) { std::memcpy(d, s, row); };
    return ForEach(absl::MakeConstSpan(loops), to, from, copy_row);
  }

  // The innermost loop of the destination with the loop that is innermost in the source.
  const Loop inner = loops.back();
  loops.pop_back();
  Loop outer = {1, 0, 0};
  if (!loops.empty()) {
    auto best = std::min_element(loops.begin(), loops.end(), [](const Loop& a, const Loop& b) {
      return std::abs(a.source_stride) < std::abs(b.source_stride);
    });
    outer = *best;
    loops.erase(best);
  }
  const PlaneCopier copier = CopierOf(element_bytes);
  auto copy_plane = [&](char* d, const char* s) { copier(d, s, outer, inner); };
  ForEach(absl::MakeConstSpan(loops), to, from, copy_plane);
}

}  // namespace onexpu
