// Between a host array of any strides and the dense layout of a device array. Pure functions on
// host memory; any thread.
#ifndef PJRT_CORE_RUNTIME_BUFFER_HOST_LAYOUT_H_
#define PJRT_CORE_RUNTIME_BUFFER_HOST_LAYOUT_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "pjrt_core/runtime/buffer/buffer.h"

namespace onexpu {

// Byte strides of the dense device representation, by logical dimension.
Dimensions DeviceByteStrides(const ArrayShape& shape);

// `byte_strides`, or dense row-major ones when it is empty.
Dimensions HostByteStrides(const ArrayShape& shape, absl::Span<const int64_t> byte_strides);

// Whether host memory with these strides has the bytes of the device representation in the same
// order.
bool IsDeviceLayout(const ArrayShape& shape, absl::Span<const int64_t> host_byte_strides);

// The same device representation: layouts that differ only in dimensions of size one, or of empty
// arrays, are the same.
bool IsSameLayout(const ArrayShape& a, const ArrayShape& b);

// Copies an array element by element. Strides are in bytes and may be zero or negative in the
// source.
void CopyStrided(void* destination, absl::Span<const int64_t> destination_strides,
                 const void* source, absl::Span<const int64_t> source_strides,
                 absl::Span<const int64_t> dimensions, size_t element_bytes);

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_BUFFER_HOST_LAYOUT_H_
