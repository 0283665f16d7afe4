// A device array: shape, layout and one allocation. What PJRT_Buffer is made of.
//
// Shared; thread-safe. Memory goes back to the pool when the last of {this buffer, views of it,
// external references, work in flight} is gone. A buffer may exist before its memory is defined:
// Execute returns at once. Ordering is by tickets on timelines (timeline.h); users of a buffer
// never wait on the host.
#ifndef PJRT_CORE_RUNTIME_BUFFER_BUFFER_H_
#define PJRT_CORE_RUNTIME_BUFFER_BUFFER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "pjrt_core/device/device.h"
#include "pjrt_core/device/event.h"
#include "pjrt_core/device/statistics.h"
#include "pjrt_core/program/element_type.h"

namespace onexpu {

using Dimensions = absl::InlinedVector<int64_t, 6>;

struct ArrayShape {
  program::ElementType element_type = program::ElementType::Invalid;
  Dimensions dimensions;
  Dimensions minor_to_major;  // always complete: rank entries

  int64_t num_elements() const;
  int64_t num_bytes() const;  // S4, U4 and the like are stored one element a byte
  bool IsRowMajor() const;
  std::string ToString() const;  // "f32[2,3]"
  bool operator==(const ArrayShape& other) const;
  static ArrayShape RowMajor(program::ElementType element_type,
                             absl::Span<const int64_t> dimensions);
};

enum class HostBufferSemantics {
  kImmutableOnlyDuringCall,
  kImmutableUntilTransferCompletes,
  kImmutableZeroCopy,
  kMutableZeroCopy,
};

// Work of other SYCL code that makes the contents of a view (foreign_queue.h).
struct ForeignWork {
  void* queue = nullptr;  // null: the contents are there
  // What to come after; without them whatever the queue has been given so far is waited for.
  std::optional<absl::Span<void* const>> events;
};

class Buffer : public std::enable_shared_from_this<Buffer> {
 public:
  // `byte_strides` empty: dense row-major. The result has `shape.minor_to_major` as device layout.
  // `done_with_host` runs once the host memory may be reused (before return for
  // kImmutableOnlyDuringCall).
  static absl::StatusOr<std::shared_ptr<Buffer>> FromHost(
      const void* data, const ArrayShape& shape, absl::Span<const int64_t> byte_strides,
      HostBufferSemantics semantics, MemorySpace* memory, Origin origin,
      absl::AnyInvocable<void()> done_with_host);

  // Defined at once, with whatever bytes the pool held.
  static absl::StatusOr<std::shared_ptr<Buffer>> Uninitialized(const ArrayShape& shape,
                                                               MemorySpace* memory);

  // A view of externally owned memory that the device can read (memory that is unknown to the SYCL
  // context is INVALID_ARGUMENT). `on_delete` runs when the last user has released it, but not if
  // this call fails.
  static absl::StatusOr<std::shared_ptr<Buffer>> View(void* device_memory, const ArrayShape& shape,
                                                      MemorySpace* memory,
                                                      absl::AnyInvocable<void()> on_delete,
                                                      const ForeignWork& work = {});

  // A buffer that is an error: for results of failed work. Every use gives `status`.
  static std::shared_ptr<Buffer> Poisoned(absl::Status status, const ArrayShape& shape,
                                          MemorySpace* memory);

  virtual ~Buffer() = default;

  virtual const ArrayShape& shape() const = 0;
  virtual MemorySpace* memory() const = 0;
  Device* device() const { return memory()->device(); }

  // Completes when the contents are defined, with the error if the work that makes them failed.
  virtual std::shared_ptr<Event> ready() = 0;

  // The device address. Does not wait for the contents. FAILED_PRECONDITION once deleted.
  virtual absl::StatusOr<void*> address() = 0;

  // Whole buffer, into `byte_strides` (empty: dense row-major). The event completes when
  // `destination` is filled.
  virtual std::shared_ptr<Event> ToHost(void* destination, absl::Span<const int64_t> byte_strides,
                                        Origin origin) = 0;
  // `size` raw bytes from `offset` of the device representation.
  virtual std::shared_ptr<Event> RawToHost(void* destination, int64_t offset, int64_t size,
                                           Origin origin) = 0;

  virtual absl::StatusOr<std::shared_ptr<Buffer>> CopyTo(MemorySpace* memory, Origin origin) = 0;

  // Over the leading bytes, sharing memory, ownership and readiness. INVALID_ARGUMENT when it does
  // not fit.
  virtual absl::StatusOr<std::shared_ptr<Buffer>> PrefixView(
      absl::Span<const int64_t> dimensions) = 0;
  // The same memory seen as `shape` of equal byte size, sharing ownership and readiness (hand-over
  // between frameworks).
  virtual absl::StatusOr<std::shared_ptr<Buffer>> Alias(const ArrayShape& shape) = 0;

  // Gives the memory up as soon as work in flight allows. Later uses fail with "buffer has been
  // deleted or donated".
  virtual void Delete() = 0;
  virtual bool IsDeleted() const = 0;

  // While positive the memory is not reused or donated (JAX's external references, exported
  // pointers).
  virtual absl::Status AcquireExternalReference() = 0;
  virtual absl::Status ReleaseExternalReference() = 0;
};

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_BUFFER_BUFFER_H_
