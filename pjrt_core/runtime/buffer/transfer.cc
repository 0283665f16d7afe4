#include "pjrt_core/runtime/buffer/transfer.h"

#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/device/library_errors.h"
#include "pjrt_core/runtime/buffer/host_layout.h"

namespace onexpu {
namespace {

// Up to here a copy on an idle queue takes less time than a thread hop.
constexpr size_t kMaxImmediateBytes = 128 << 10;

int64_t EstimateNanoseconds(size_t bytes) { return 3'000 + static_cast<int64_t>(bytes / 20); }

Timeline::Reservation Transfer(Timeline& timeline, const char* name, void* destination,
                               const void* source, size_t bytes, std::optional<sycl::event> after,
                               std::shared_ptr<const void> keep_alive) {
  return timeline.Submit(
      EstimateNanoseconds(bytes), std::move(keep_alive), {name, bytes}, [&](sycl::queue& queue) {
        return after.has_value() ? queue.memcpy(destination, source, bytes, *after)
                                 : queue.memcpy(destination, source, bytes);
      });
}

// The same for few bytes that wait for nothing, at once where the device can do so.
std::optional<absl::Status> CopyNow(Timeline& timeline, void* destination, const void* source,
                                    size_t bytes) {
  if (bytes > kMaxImmediateBytes) return std::nullopt;
  return timeline.RunOnCaller([&](sycl::queue& queue) {
    sycl::ext::oneapi::experimental::memcpy(queue, destination, source, bytes);
  });
}

DeviceBuffer::Contents DefinedNow(std::shared_ptr<DeviceMemory> memory) {
  return {std::move(memory), 0,
          Definition{{}, Event::Completed(absl::OkStatus()), NewContentVersion()}};
}

// Hands the bytes of `source`, which are in the device's order, to the device. `done` runs when the
// source is free.
absl::StatusOr<DeviceBuffer::Contents> Upload(SyclDevice& device,
                                              std::shared_ptr<DeviceMemory> memory,
                                              const void* source, size_t bytes, bool synchronous,
                                              std::shared_ptr<const void> keep_alive,
                                              absl::AnyInvocable<void()> done) {
  Timeline& timeline = device.host_to_device();
  if (std::optional<absl::Status> copied = CopyNow(timeline, memory->address(), source, bytes)) {
    ONEXPU_RETURN_IF_ERROR(*copied);
    if (done) done();
    return DefinedNow(std::move(memory));
  }
  Timeline::Reservation copy = Transfer(timeline, "copy host to device", memory->address(), source,
                                        bytes, std::nullopt, std::move(keep_alive));
  const TicketRef ticket{&timeline, copy.ticket};
  memory->AddUse(ticket);
  if (synchronous) timeline.Wait(copy.ticket);
  if (copy.done->IsKnown()) ONEXPU_RETURN_IF_ERROR(copy.done->status());
  if (done) timeline.WhenComplete(copy.ticket, std::move(done));
  return DeviceBuffer::Contents{std::move(memory), 0,
                                Definition{ticket, std::move(copy.done), NewContentVersion()}};
}

// Whether work on the device can use the host's memory as it is: USM of its context, in a place
// that costs nothing.
bool IsUsableInPlace(const SyclDevice& device, const HostArray& array, MemorySpace* space) {
  if (array.semantics != HostBufferSemantics::kImmutableZeroCopy &&
      array.semantics != HostBufferSemantics::kMutableZeroCopy) {
    return false;
  }
  if (space->kind() == MemoryKind::kDevice && !device.traits().uses_host_arrays_in_place) {
    return false;
  }
  sycl::usm::alloc kind = sycl::usm::alloc::unknown;
  CatchLibraryErrors([&] {
    kind = sycl::get_pointer_type(array.data, device.context());
    return absl::OkStatus();
  }).IgnoreError();
  return kind == sycl::usm::alloc::host || kind == sycl::usm::alloc::shared;
}

// The same for small contents in host memory, which need no device command: the thread that
// completes the defining work copies them. Releases the caller's ownership only after the copy, so
// that the memory is not overwritten before.
std::shared_ptr<Event> CopyOnHost(DeviceBuffer::Contents contents, size_t offset, size_t bytes,
                                  void* destination) {
  const std::shared_ptr<Event> defined = contents.definition.ready;
  std::shared_ptr<Event> filled = Event::Create();
  defined->OnReady([contents = std::move(contents), offset, bytes, destination,
                    filled](const absl::Status& status) {
    if (status.ok()) std::memcpy(destination, contents.address() + offset, bytes);
    contents.memory->RemoveOwner();
    filled->Complete(status);
  });
  return filled;
}

}  // namespace

absl::StatusOr<DeviceBuffer::Contents> CopyFromHost(const HostArray& array, const ArrayShape& shape,
                                                    MemorySpace* space,
                                                    absl::AnyInvocable<void()> done_with_host) {
  SyclDevice& device = *static_cast<SyclDevice*>(space->device());
  const size_t bytes = static_cast<size_t>(shape.num_bytes());
  const Dimensions host_strides = HostByteStrides(shape, array.byte_strides);
  const bool same_order = IsDeviceLayout(shape, host_strides);
  const bool to_host_memory = space->kind() == MemoryKind::kPinnedHost;
  auto repack = [&](void* destination) {
    CopyStrided(destination, DeviceByteStrides(shape), array.data, host_strides, shape.dimensions,
                program::StorageBytes(shape.element_type));
  };

  if (same_order && bytes > kMaxImmediateBytes && IsUsableInPlace(device, array, space)) {
    // The host's until the last user is done. Versions are for contents that stay: it may be
    // mutable.
    auto shared = std::make_shared<DeviceMemory>(const_cast<void*>(array.data), bytes,
                                                 std::move(done_with_host));
    return DeviceBuffer::Contents{std::move(shared), 0,
                                  Definition{{}, Event::Completed(absl::OkStatus()), 0}};
  }
  device.CompleteFinished();
  // Pinned host memory is written from here, so nothing may still be using it.
  ONEXPU_ASSIGN_OR_RETURN(
      std::shared_ptr<DeviceMemory> memory,
      device.Allocate(space->kind(), bytes, to_host_memory ? nullptr : &device.host_to_device()));
  if (bytes == 0 || to_host_memory) {
    if (bytes > 0) repack(memory->address());
    if (done_with_host) done_with_host();
    return DefinedNow(std::move(memory));
  }

  const bool during_call = array.semantics == HostBufferSemantics::kImmutableOnlyDuringCall;
  const bool small = bytes <= kMaxImmediateBytes;
  const bool idle = device.host_to_device().IsIdle();
  if (same_order && !(small && during_call && !idle)) {
    const bool synchronous = during_call || (small && idle);
    return Upload(device, std::move(memory), array.data, bytes, synchronous, nullptr,
                  std::move(done_with_host));
  }

  ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<DeviceMemory> staging,
                          device.Allocate(MemoryKind::kPinnedHost, bytes, nullptr));
  repack(staging->address());
  if (done_with_host) done_with_host();
  const void* source = staging->address();
  return Upload(device, std::move(memory), source, bytes, small && idle, std::move(staging), {});
}

std::shared_ptr<Event> CopyToHost(const DeviceBuffer& buffer, size_t offset, size_t bytes,
                                  void* destination) {
  SyclDevice& device = buffer.sycl_device();
  Timeline& timeline = device.device_to_host();
  // A small array that cheap work produces: waiting for the work costs less than a dependency.
  if (bytes <= kMaxImmediateBytes) buffer.WaitIfCheap();
  absl::StatusOr<DeviceBuffer::Contents> contents;  // goes after the lock
  absl::ReleasableMutexLock lock(&device.submission_mutex());
  contents = buffer.Acquire();
  if (!contents.ok()) return Event::Completed(contents.status());
  const Definition& definition = contents->definition;
  if (absl::Status poison = definition.poison(); !poison.ok()) return Event::Completed(poison);
  if (bytes == 0) return definition.ready;
  if (buffer.memory()->kind() == MemoryKind::kPinnedHost && bytes <= kMaxImmediateBytes) {
    contents->memory->AddOwner();
    lock.Release();
    return CopyOnHost(*std::move(contents), offset, bytes, destination);
  }

  auto submit = [&timeline, made = definition.ticket, memory = contents->memory.get(),
                 source = contents->address() + offset, bytes, destination] {
    std::optional<sycl::event> after;
    if (made.ticket != 0) after = made.timeline->DependencyOn(made.ticket);
    Timeline::Reservation copy = Transfer(timeline, "copy device to host", destination, source,
                                          bytes, std::move(after), nullptr);
    memory->AddUse({&timeline, copy.ticket});
    return copy;
  };

  const TicketRef made = definition.ticket;
  if (made.ticket != 0 && !made.timeline->IsCommitted(made.ticket)) {
    // The launcher has not submitted the defining work yet, so the copy follows it there. Until the
    // copy has a ticket, the memory must not be written.
    std::shared_ptr<Event> filled = Event::Create();
    contents->memory->AddOwner();
    device.launcher().Enqueue([submit = std::move(submit), contents = *std::move(contents),
                               filled]() mutable {
      const Definition& definition = contents.definition;
      definition.ticket.timeline->WaitUntilCommitted(definition.ticket.ticket);
      absl::Status poison = definition.poison();
      if (poison.ok()) {
        submit().done->OnReady([filled](const absl::Status& status) { filled->Complete(status); });
      } else {
        filled->Complete(std::move(poison));
      }
      contents.memory->RemoveOwner();
    });
    return filled;
  }
  const bool defined = made.ticket == 0 || made.timeline->IsComplete(made.ticket);
  if (defined) {
    const char* const source = contents->address() + offset;
    if (std::optional<absl::Status> copied = CopyNow(timeline, destination, source, bytes)) {
      return Event::Completed(*std::move(copied));
    }
  }
  const bool immediate = defined && bytes <= kMaxImmediateBytes && timeline.IsIdle();
  Timeline::Reservation copy = submit();
  lock.Release();
  if (immediate) timeline.Wait(copy.ticket);
  return copy.done;
}

std::shared_ptr<Event> CopyToHostStrided(const DeviceBuffer& buffer, void* destination,
                                         absl::Span<const int64_t> byte_strides) {
  const ArrayShape& shape = buffer.shape();
  const size_t bytes = static_cast<size_t>(shape.num_bytes());
  Dimensions host_strides = HostByteStrides(shape, byte_strides);
  if (IsDeviceLayout(shape, host_strides)) return CopyToHost(buffer, 0, bytes, destination);

  absl::StatusOr<std::shared_ptr<DeviceMemory>> staging =
      buffer.sycl_device().Allocate(MemoryKind::kPinnedHost, bytes, nullptr);
  if (!staging.ok()) return Event::Completed(staging.status());
  std::shared_ptr<Event> filled = Event::Create();
  std::shared_ptr<Event> copied = CopyToHost(buffer, 0, bytes, (*staging)->address());
  copied->OnReady([filled, staging = *std::move(staging), shape, destination,
                   host_strides = std::move(host_strides)](const absl::Status& status) {
    if (status.ok()) {
      CopyStrided(destination, host_strides, staging->address(), DeviceByteStrides(shape),
                  shape.dimensions, program::StorageBytes(shape.element_type));
    }
    filled->Complete(status);
  });
  return filled;
}

}  // namespace onexpu
