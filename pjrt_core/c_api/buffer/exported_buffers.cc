#include "pjrt_core/c_api/buffer/exported_buffers.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "pjrt_core/base/status_macros.h"

namespace onexpu::c_api {

ExportedBuffers& ExportedBuffers::Get() {
  static ExportedBuffers* const buffers =
      new ExportedBuffers;  // never destroyed: exits in any order
  return *buffers;
}

absl::StatusOr<void*> ExportedBuffers::Export(std::shared_ptr<Buffer> buffer) {
  ONEXPU_ASSIGN_OR_RETURN(void* address, buffer->address());
  ONEXPU_RETURN_IF_ERROR(buffer->AcquireExternalReference());
  absl::MutexLock lock(&mutex_);
  holds_[address].push_back(std::move(buffer));
  size_.fetch_add(1, std::memory_order_release);
  return address;
}

absl::StatusOr<std::shared_ptr<Buffer>> ExportedBuffers::RemoveHold(const void* address) {
  absl::MutexLock lock(&mutex_);
  auto it = holds_.find(address);
  if (it == holds_.end()) {
    return absl::NotFoundError(absl::StrCat("onexpu: no buffer is exported at address 0x",
                                            absl::Hex(reinterpret_cast<uintptr_t>(address))));
  }
  std::shared_ptr<Buffer> buffer = std::move(it->second.back());
  it->second.pop_back();
  if (it->second.empty()) holds_.erase(it);
  size_.fetch_sub(1, std::memory_order_release);
  return buffer;
}

absl::Status ExportedBuffers::Cancel(void* address) {
  ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> buffer, RemoveHold(address));
  return buffer->ReleaseExternalReference();
}

absl::StatusOr<std::shared_ptr<Buffer>> ExportedBuffers::Take(const void* address,
                                                              const ArrayShape& shape,
                                                              const MemorySpace* memory) {
  if (size_.load(std::memory_order_acquire) == 0 || address == nullptr) return nullptr;
  absl::StatusOr<std::shared_ptr<Buffer>> buffer = RemoveHold(address);
  if (absl::IsNotFound(buffer.status())) return nullptr;
  ONEXPU_RETURN_IF_ERROR(buffer.status());
  // From here on the alias keeps the memory; a donation of either sees that it is shared.
  ONEXPU_RETURN_IF_ERROR((*buffer)->ReleaseExternalReference());
  if ((*buffer)->memory() != memory || (*buffer)->shape().num_bytes() != shape.num_bytes() ||
      !shape.IsRowMajor() || !(*buffer)->shape().IsRowMajor()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "onexpu: a buffer of ", (*buffer)->shape().num_bytes(), " bytes on ",
        (*buffer)->memory()->device()->debug_string(), " was exported, but is taken as one of ",
        shape.num_bytes(), " bytes on ", memory->device()->debug_string(),
        "; size, device and row-major layout have to agree"));
  }
  return (*buffer)->Alias(shape);
}

}  // namespace onexpu::c_api
