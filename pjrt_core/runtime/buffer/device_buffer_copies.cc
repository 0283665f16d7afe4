// The functions of buffers that copy: to and from the host, to other memories, and views of
// externally owned memory, which order queues.

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/device/library_errors.h"
#include "pjrt_core/runtime/buffer/device_buffer.h"
#include "pjrt_core/runtime/buffer/foreign_queue.h"
#include "pjrt_core/runtime/buffer/staged_copy.h"
#include "pjrt_core/runtime/buffer/submission.h"
#include "pjrt_core/runtime/buffer/transfer.h"
#include "pjrt_core/runtime/sycl_device/fork_guard.h"

namespace onexpu {
namespace {

// Checks that the device can read externally owned memory.
absl::Status CheckReadable(const void* memory, const SyclDevice& device) {
  sycl::usm::alloc kind = sycl::usm::alloc::unknown;
  bool is_elsewhere = false;
  ONEXPU_RETURN_IF_ERROR(CatchLibraryErrors([&] {
    kind = sycl::get_pointer_type(memory, device.context());
    is_elsewhere = kind == sycl::usm::alloc::device &&
                   sycl::get_pointer_device(memory, device.context()) != device.sycl_device();
    return absl::OkStatus();
  }));
  if (kind != sycl::usm::alloc::unknown && !is_elsewhere) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "onexpu: the memory at 0x", absl::Hex(reinterpret_cast<uintptr_t>(memory)),
      is_elsewhere ? " is of another device of " : " is no USM allocation of ", "SYCL context ",
      DescribeContextOf(device), ", which is that of ", device.debug_string(),
      ": the device cannot read it. Allocate it there, or copy it"));
}

}  // namespace

std::shared_ptr<Event> DeviceBuffer::ToHost(void* destination,
                                            absl::Span<const int64_t> byte_strides, Origin origin) {
  if (absl::Status status = CheckNotForked(); !status.ok()) return Event::Completed(status);
  if (!byte_strides.empty() && byte_strides.size() != shape_.dimensions.size()) {
    return Event::Completed(absl::InvalidArgumentError(absl::StrCat(
        "onexpu: ", byte_strides.size(), " strides for the buffer ", shape_.ToString())));
  }
  sycl_device().statistics().CountTransfer(TransferDirection::kDeviceToHost, origin,
                                           TransferEntry::kToHostBuffer, shape_.num_bytes());
  return CopyToHostStrided(*this, destination, byte_strides);
}

std::shared_ptr<Event> DeviceBuffer::RawToHost(void* destination, int64_t offset, int64_t size,
                                               Origin origin) {
  if (absl::Status status = CheckNotForked(); !status.ok()) return Event::Completed(status);
  if (offset < 0 || size < 0 || offset > shape_.num_bytes() - size) {
    return Event::Completed(absl::InvalidArgumentError(
        absl::StrCat("onexpu: ", size, " bytes from offset ", offset, " do not lie in the buffer ",
                     shape_.ToString(), " of ", shape_.num_bytes(), " bytes")));
  }
  sycl_device().statistics().CountTransfer(TransferDirection::kDeviceToHost, origin,
                                           TransferEntry::kCopyRaw, size);
  return CopyToHost(*this, offset, size, destination);
}

absl::StatusOr<std::shared_ptr<DeviceBuffer>> DeviceBuffer::CopyOn(SyclDevice& device,
                                                                   MemorySpace* memory) const {
  return device.RetryAfterLauncherDrains([&] { return TryCopyOn(device, memory); });
}

absl::StatusOr<std::shared_ptr<DeviceBuffer>> DeviceBuffer::TryCopyOn(SyclDevice& device,
                                                                      MemorySpace* memory) const {
  const size_t bytes = static_cast<size_t>(shape_.num_bytes());
  Submission submission(device);
  // The lock of the buffer's own device keeps its programs from taking over the memory meanwhile.
  // Locks are acquired in the order of device ids, to avoid deadlocks.
  SyclDevice& own = sycl_device();
  SyclDevice& first = own.id() < device.id() ? own : device;
  absl::MutexLock lock(&first.submission_mutex());
  std::optional<absl::MutexLock> second;
  if (&own != &device) second.emplace(&(&first == &own ? device : own).submission_mutex());
  ONEXPU_ASSIGN_OR_RETURN(Contents contents, Acquire());
  ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<DeviceMemory> copy,
                          submission.Allocate(memory->kind(), bytes));
  const char* source = submission.Read(contents);
  SubmitOptions options{.estimated_nanoseconds = static_cast<int64_t>(3'000 + bytes / 10)};
  Definition definition = submission.Submit(
      std::move(options), [&compute = device.compute(), destination = copy->address(), source,
                           bytes](sycl::queue& queue) {
        if (bytes > 0) {
          SubmitCopy(queue, compute.trace(), "copy on device", destination, source, bytes);
        }
        return absl::OkStatus();
      });
  return std::make_shared<DeviceBuffer>(shape_, memory,
                                        Contents{std::move(copy), 0, std::move(definition)});
}

absl::StatusOr<std::shared_ptr<Buffer>> DeviceBuffer::CopyTo(MemorySpace* memory, Origin origin) {
  ONEXPU_RETURN_IF_ERROR(CheckNotForked());
  SyclDevice& device = sycl_device();
  SyclDevice& target = *static_cast<SyclDevice*>(memory->device());
  device.statistics().CountTransfer(TransferDirection::kDeviceToDevice, origin,
                                    TransferEntry::kCopy, shape_.num_bytes());
  if (&target == &device) return CopyOn(device, memory);
  if (!target.CopiesFrom(device)) return CopyStaged(*this, memory);
  if (!device.traits().copies_to_peers_through_pinned_memory) return CopyOn(target, memory);
  ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<DeviceBuffer> staged,
                          CopyOn(device, device.memory(MemoryKind::kPinnedHost)));
  return staged->CopyOn(target, memory);
}

absl::StatusOr<std::shared_ptr<Buffer>> Buffer::FromHost(
    const void* data, const ArrayShape& shape, absl::Span<const int64_t> byte_strides,
    HostBufferSemantics semantics, MemorySpace* memory, Origin origin,
    absl::AnyInvocable<void()> done_with_host) {
  ONEXPU_RETURN_IF_ERROR(CheckNotForked());
  if (!byte_strides.empty() && byte_strides.size() != shape.dimensions.size()) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: ", byte_strides.size(),
                                                   " strides for an array of rank ",
                                                   shape.dimensions.size()));
  }
  ONEXPU_ASSIGN_OR_RETURN(
      DeviceBuffer::Contents contents,
      CopyFromHost({data, byte_strides, semantics}, shape, memory, std::move(done_with_host)));
  static_cast<SyclDevice*>(memory->device())
      ->statistics()
      .CountTransfer(TransferDirection::kHostToDevice, origin, TransferEntry::kFromHostBuffer,
                     shape.num_bytes());
  return std::make_shared<DeviceBuffer>(shape, memory, std::move(contents));
}

absl::StatusOr<std::shared_ptr<Buffer>> Buffer::View(void* device_memory, const ArrayShape& shape,
                                                     MemorySpace* memory,
                                                     absl::AnyInvocable<void()> on_delete,
                                                     const ForeignWork& work) {
  ONEXPU_RETURN_IF_ERROR(CheckNotForked());
  auto& device = *static_cast<SyclDevice*>(memory->device());
  Definition definition{{}, Event::Completed(absl::OkStatus()), 0};
  if (work.queue != nullptr) {
    ONEXPU_ASSIGN_OR_RETURN(definition, DefineByForeignWork(work, device));
  }
  if (shape.num_bytes() > 0) ONEXPU_RETURN_IF_ERROR(CheckReadable(device_memory, device));
  auto external = std::make_shared<DeviceMemory>(
      device_memory, static_cast<size_t>(shape.num_bytes()), std::move(on_delete));
  return std::make_shared<DeviceBuffer>(
      shape, memory, DeviceBuffer::Contents{std::move(external), 0, std::move(definition)});
}

}  // namespace onexpu
