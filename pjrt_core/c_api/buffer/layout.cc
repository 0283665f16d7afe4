#include "pjrt_core/c_api/buffer/layout.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/c_api/entry.h"
#include "pjrt_core/program/element_type.h"

namespace onexpu::c_api {
namespace {

// Room for the last element to be added without an overflow.
constexpr int64_t kMaxHostArrayBytes = int64_t{1} << 62;

Dimensions RowMajorOrder(size_t rank) {
  Dimensions order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = static_cast<int64_t>(rank - 1 - i);
  return order;
}

absl::Status CheckPermutation(absl::Span<const int64_t> order, size_t rank) {
  Dimensions sorted(order.begin(), order.end());
  std::sort(sorted.begin(), sorted.end());
  bool ok = sorted.size() == rank;
  for (size_t i = 0; ok && i < rank; ++i) ok = sorted[i] == static_cast<int64_t>(i);
  if (ok) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("onexpu: layout {", absl::StrJoin(order, ","),
                   "} is not an order of the dimensions of an array of rank ", rank));
}

absl::StatusOr<Dimensions> FromTiled(const PJRT_Buffer_MemoryLayout_Tiled& tiled, size_t rank) {
  if (tiled.num_tiles > 0) {
    return absl::UnimplementedError(absl::StrCat("onexpu: tiled layouts are not supported (",
                                                 tiled.num_tiles, " tiles on an array of rank ",
                                                 rank, ")"));
  }
  if (tiled.minor_to_major == nullptr && tiled.minor_to_major_size > 0) {
    return absl::InvalidArgumentError("onexpu: minor_to_major of a layout is null");
  }
  Dimensions order(tiled.minor_to_major, tiled.minor_to_major + tiled.minor_to_major_size);
  ONEXPU_RETURN_IF_ERROR(CheckPermutation(order, rank));
  return order;
}

// The order of dimensions in which `strides` is dense.
absl::StatusOr<Dimensions> FromStrides(absl::Span<const int64_t> strides, const ArrayShape& shape) {
  const size_t rank = shape.dimensions.size();
  if (strides.size() != rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: ", strides.size(), " byte strides for an array of rank ", rank));
  }
  ArrayShape ordered = shape;
  ordered.minor_to_major = RowMajorOrder(rank);
  std::sort(ordered.minor_to_major.begin(), ordered.minor_to_major.end(),
            [&](int64_t a, int64_t b) {
              return strides[a] != strides[b] ? strides[a] < strides[b] : a > b;
            });
  const Dimensions dense = DenseByteStrides(ordered);
  for (size_t i = 0; i < rank; ++i) {
    if (shape.dimensions[i] != 1 && dense[i] != strides[i] && shape.num_elements() != 0) {
      return absl::UnimplementedError(
          absl::StrCat("onexpu: device layouts with gaps are not supported (byte strides [",
                       absl::StrJoin(strides, ","), "])"));
    }
  }
  return ordered.minor_to_major;
}

// None where there is no list, whatever its size says.
absl::Span<const int64_t> Strides(const PJRT_Buffer_MemoryLayout_Strides& strides) {
  if (strides.byte_strides == nullptr) return {};
  return absl::MakeConstSpan(strides.byte_strides, strides.num_byte_strides);
}

// XLA's callers leave the sizes of a layout unset, the outer one and those inside: nothing is read
// by them.
absl::StatusOr<Dimensions> ToMinorToMajor(const PJRT_Buffer_MemoryLayout* layout,
                                          const ArrayShape& shape) {
  if (layout == nullptr) return RowMajorOrder(shape.dimensions.size());
  const PJRT_Buffer_MemoryLayout& whole = *layout;
  if (whole.type == PJRT_Buffer_MemoryLayout_Type_Strides) {
    return FromStrides(Strides(whole.strides), shape);
  }
  return FromTiled(whole.tiled, shape.dimensions.size());
}

}  // namespace

absl::StatusOr<ArrayShape> ToShape(PJRT_Buffer_Type type, const int64_t* dimensions, size_t rank,
                                   const PJRT_Buffer_MemoryLayout* layout) {
  const program::ElementTypeInfo* info = program::FindElementTypeOfPjrt(type);
  if (info == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("onexpu: PJRT_Buffer_Type ", static_cast<int>(type), " is not supported"));
  }
  if (dimensions == nullptr && rank > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: the dimensions of an array of rank ", rank, " are null"));
  }
  ArrayShape shape;
  shape.element_type = info->type;
  shape.dimensions.assign(dimensions, dimensions + rank);
  int64_t bytes = std::max(info->storage_bytes, 1);
  bool empty = false;
  for (int64_t dimension : shape.dimensions) {
    if (dimension < 0) {
      return absl::InvalidArgumentError(absl::StrCat("onexpu: a negative dimension in ", info->name,
                                                     "[", absl::StrJoin(shape.dimensions, ","),
                                                     "]"));
    }
    empty = empty || dimension == 0;
    if (dimension > 0 && __builtin_mul_overflow(bytes, dimension, &bytes) && !empty) {
      return absl::InvalidArgumentError(absl::StrCat("onexpu: ", info->name, "[",
                                                     absl::StrJoin(shape.dimensions, ","),
                                                     "] has more bytes than 64 bits count"));
    }
  }
  ONEXPU_ASSIGN_OR_RETURN(shape.minor_to_major, ToMinorToMajor(layout, shape));
  return shape;
}

PJRT_Buffer_Type ToBufferType(program::ElementType type) {
  const program::ElementTypeInfo* info = program::FindElementType(type);
  if (info == nullptr || info->pjrt_buffer_type < 0) return PJRT_Buffer_Type_INVALID;
  return static_cast<PJRT_Buffer_Type>(info->pjrt_buffer_type);
}

Dimensions DenseByteStrides(const ArrayShape& shape) {
  Dimensions strides(shape.dimensions.size());
  int64_t stride = program::StorageBytes(shape.element_type);
  for (int64_t dimension : shape.minor_to_major) {
    strides[dimension] = stride;
    stride *= std::max<int64_t>(shape.dimensions[dimension], 1);
  }
  return strides;
}

absl::StatusOr<HostLayout> ToHostLayout(const PJRT_Buffer_MemoryLayout* layout,
                                        const ArrayShape& shape) {
  HostLayout result;
  result.num_bytes = static_cast<size_t>(shape.num_bytes());
  if (layout != nullptr) {
    const PJRT_Buffer_MemoryLayout& whole = *layout;
    if (whole.type == PJRT_Buffer_MemoryLayout_Type_Strides) {
      const absl::Span<const int64_t> strides = Strides(whole.strides);
      if (strides.size() != shape.dimensions.size()) {
        return absl::InvalidArgumentError(absl::StrCat("onexpu: ", strides.size(),
                                                       " byte strides for an array of rank ",
                                                       shape.dimensions.size()));
      }
      int64_t last = 0;
      for (size_t i = 0; i < strides.size(); ++i) {
        if (strides[i] < 0) {
          return absl::InvalidArgumentError("onexpu: a destination with a negative byte stride");
        }
        int64_t reach = std::max<int64_t>(shape.dimensions[i] - 1, 0);
        if (__builtin_mul_overflow(reach, strides[i], &reach) ||
            __builtin_add_overflow(last, reach, &last) || last > kMaxHostArrayBytes) {
          return absl::InvalidArgumentError(
              "onexpu: byte strides of a destination that no memory holds");
        }
      }
      if (shape.num_elements() > 0) {
        result.num_bytes = last + program::StorageBytes(shape.element_type);
      }
      result.byte_strides.assign(strides.begin(), strides.end());
      return result;
    }
  }
  ArrayShape host = shape;
  if (layout != nullptr) {
    ONEXPU_ASSIGN_OR_RETURN(host.minor_to_major, ToMinorToMajor(layout, shape));
  }
  if (!host.IsRowMajor()) result.byte_strides = DenseByteStrides(host);
  return result;
}

std::string LayoutText(absl::Span<const int64_t> minor_to_major) {
  return absl::StrCat("{", absl::StrJoin(minor_to_major, ","), "}");
}

}  // namespace onexpu::c_api
