// Translates PJRT's types and layouts to the core's: element types, dimensions, minor-to-major
// orders, byte strides.
//
// Pure functions; any thread.
#ifndef PJRT_CORE_C_API_BUFFER_LAYOUT_H_
#define PJRT_CORE_C_API_BUFFER_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "pjrt_core/runtime/buffer/buffer.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace onexpu::c_api {

// The core's shape of an array that a caller describes. A null `layout` is row-major. UNIMPLEMENTED
// for tiles and for types that the core does not store; INVALID_ARGUMENT for negative dimensions,
// sizes beyond 64 bits and layouts that are no permutation of the dimensions.
absl::StatusOr<ArrayShape> ToShape(PJRT_Buffer_Type type, const int64_t* dimensions, size_t rank,
                                   const PJRT_Buffer_MemoryLayout* layout);

// PJRT's element type of a shape.
PJRT_Buffer_Type ToBufferType(program::ElementType type);

// Byte strides of `shape` as its own layout stores it.
Dimensions DenseByteStrides(const ArrayShape& shape);

// How a caller wants `shape` in host memory.
struct HostLayout {
  Dimensions byte_strides;  // empty: dense row-major
  size_t num_bytes;         // from the first to behind the last element
};

// A null `layout` means the layout that `shape` has on the device.
absl::StatusOr<HostLayout> ToHostLayout(const PJRT_Buffer_MemoryLayout* layout,
                                        const ArrayShape& shape);

// "{1,0}": how XLA writes a layout without tiles.
std::string LayoutText(absl::Span<const int64_t> minor_to_major);

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_BUFFER_LAYOUT_H_
