// Copies between host arrays and device memory, and reports their completion.
//
// Stateless; thread-safe. Small transfers on an idle queue are complete on return (that costs less
// than a later notification); large ones run asynchronously. If the host layout does not match the
// device layout, the array is repacked on the host through pinned memory.
#ifndef PJRT_CORE_RUNTIME_BUFFER_TRANSFER_H_
#define PJRT_CORE_RUNTIME_BUFFER_TRANSFER_H_

#include <cstddef>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "pjrt_core/runtime/buffer/buffer.h"
#include "pjrt_core/runtime/buffer/device_buffer.h"
#include "pjrt_core/runtime/sycl_device/sycl_device.h"

namespace onexpu {

struct HostArray {
  const void* data;
  absl::Span<const int64_t> byte_strides;  // empty: dense row-major
  HostBufferSemantics semantics;
};

// New memory of `space` filled from `array`. `done_with_host` runs once the host memory may be
// reused.
absl::StatusOr<DeviceBuffer::Contents> CopyFromHost(const HostArray& array, const ArrayShape& shape,
                                                    MemorySpace* space,
                                                    absl::AnyInvocable<void()> done_with_host);

// `bytes` of the device representation from `offset` on. The event completes when `destination` is
// filled.
std::shared_ptr<Event> CopyToHost(const DeviceBuffer& buffer, size_t offset, size_t bytes,
                                  void* destination);

// The whole array, in other strides.
std::shared_ptr<Event> CopyToHostStrided(const DeviceBuffer& buffer, void* destination,
                                         absl::Span<const int64_t> byte_strides);

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_BUFFER_TRANSFER_H_
