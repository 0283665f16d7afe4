#include "pjrt_core/runtime/buffer/device_buffer.h"

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/runtime/buffer/host_layout.h"
#include "pjrt_core/runtime/buffer/live_buffers.h"
#include "pjrt_core/runtime/sycl_device/fork_guard.h"

namespace onexpu {

uint64_t NewContentVersion() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

DeviceBuffer::DeviceBuffer(ArrayShape shape, MemorySpace* memory, Contents contents)
    : shape_(std::move(shape)), memory_space_(memory), contents_(std::move(contents)) {
  if (contents_.memory != nullptr) contents_.memory->AddOwner();
}

DeviceBuffer::~DeviceBuffer() {
  Delete();
  if (external_hold_ != nullptr) external_hold_->RemoveOwner();
}

absl::Status DeviceBuffer::DeletedError() const {
  return absl::InvalidArgumentError(
      absl::StrCat("onexpu: the buffer ", shape_.ToString(), " has been deleted or donated"));
}

absl::StatusOr<DeviceBuffer::Contents> DeviceBuffer::Acquire() const {
  absl::MutexLock lock(&mutex_);
  if (deleted_) return DeletedError();
  return contents_;
}

void DeviceBuffer::WaitIfCheap() const {
  TicketRef made;
  {
    absl::MutexLock lock(&mutex_);
    if (!deleted_) made = contents_.definition.ticket;
  }
  if (made.ticket == 0 || made.timeline->IsComplete(made.ticket)) return;
  made.timeline->WaitIfCheap(made.ticket);
}

std::shared_ptr<Event> DeviceBuffer::ready() {
  absl::MutexLock lock(&mutex_);
  return deleted_ ? Event::Completed(DeletedError()) : contents_.definition.ready;
}

absl::StatusOr<void*> DeviceBuffer::address() {
  absl::MutexLock lock(&mutex_);
  if (deleted_) return absl::FailedPreconditionError(DeletedError().message());
  if (contents_.memory == nullptr) return contents_.definition.ready->status();
  void* address = contents_.address();
  if (!is_listed_) {
    is_listed_ = true;
    ListLiveBuffer(address, shared_from_this());
  }
  return address;
}

absl::StatusOr<std::shared_ptr<Buffer>> DeviceBuffer::PrefixView(
    absl::Span<const int64_t> dimensions) {
  ArrayShape view = ArrayShape::RowMajor(shape_.element_type, dimensions);
  for (int64_t dimension : dimensions) {
    if (dimension < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("onexpu: a view with dimensions [", absl::StrJoin(dimensions, ","), "]"));
    }
  }
  if (!IsSameLayout(shape_, ArrayShape::RowMajor(shape_.element_type, shape_.dimensions)) ||
      view.num_bytes() > shape_.num_bytes()) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: a view ", view.ToString(),
                                                   " does not fit the buffer ", shape_.ToString(),
                                                   ", or that is not row-major"));
  }
  ONEXPU_ASSIGN_OR_RETURN(Contents contents, Acquire());
  return std::make_shared<DeviceBuffer>(std::move(view), memory_space_, std::move(contents));
}

absl::StatusOr<std::shared_ptr<Buffer>> DeviceBuffer::Alias(const ArrayShape& shape) {
  if (shape.num_bytes() != shape_.num_bytes()) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: the buffer ", shape_.ToString(), " of ",
                                                   shape_.num_bytes(), " bytes cannot be seen as ",
                                                   shape.ToString()));
  }
  ONEXPU_ASSIGN_OR_RETURN(Contents contents, Acquire());
  return std::make_shared<DeviceBuffer>(shape, memory_space_, std::move(contents));
}

void DeviceBuffer::Delete() {
  Contents released;  // goes after the lock: giving memory back may run callbacks of users
  {
    absl::MutexLock lock(&mutex_);
    if (deleted_) return;
    deleted_ = true;
    released = std::move(contents_);
    if (is_listed_) UnlistLiveBuffer(released.address(), this);
  }
  if (released.memory != nullptr) released.memory->RemoveOwner();
}

bool DeviceBuffer::IsDeleted() const {
  absl::MutexLock lock(&mutex_);
  return deleted_;
}

absl::Status DeviceBuffer::AcquireExternalReference() {
  absl::MutexLock lock(&mutex_);
  if (deleted_) return DeletedError();
  if (contents_.memory == nullptr) return contents_.definition.ready->status();
  if (external_references_++ == 0) {
    external_hold_ = contents_.memory;
    external_hold_->AddOwner();
  }
  contents_.definition.version = 0;  // the holder of the pointer may write
  return absl::OkStatus();
}

absl::Status DeviceBuffer::ReleaseExternalReference() {
  std::shared_ptr<DeviceMemory> released;
  absl::MutexLock lock(&mutex_);
  if (external_references_ == 0) {
    return absl::FailedPreconditionError(absl::StrCat("onexpu: the buffer ", shape_.ToString(),
                                                      " has no external reference to release"));
  }
  if (--external_references_ == 0) {
    released = std::move(external_hold_);
    released->RemoveOwner();
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<Buffer>> Buffer::Uninitialized(const ArrayShape& shape,
                                                              MemorySpace* memory) {
  ONEXPU_RETURN_IF_ERROR(CheckNotForked());
  auto& device = *static_cast<SyclDevice*>(memory->device());
  ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<DeviceMemory> block,
                          device.Allocate(memory->kind(), shape.num_bytes(), nullptr));
  Definition definition{{}, Event::Completed(absl::OkStatus()), 0};
  return std::make_shared<DeviceBuffer>(
      shape, memory, DeviceBuffer::Contents{std::move(block), 0, std::move(definition)});
}

std::shared_ptr<Buffer> Buffer::Poisoned(absl::Status status, const ArrayShape& shape,
                                         MemorySpace* memory) {
  Definition definition{{}, Event::Completed(std::move(status)), 0};
  return std::make_shared<DeviceBuffer>(shape, memory,
                                        DeviceBuffer::Contents{nullptr, 0, std::move(definition)});
}

}  // namespace onexpu
