#include "pjrt_core/c_api/buffer/offered_buffers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/runtime/buffer/live_buffers.h"

namespace onexpu::c_api {

OfferedBuffers& OfferedBuffers::Get() {
  static OfferedBuffers* const buffers = new OfferedBuffers;  // never destroyed: exits in any order
  return *buffers;
}

absl::StatusOr<int64_t> OfferedBuffers::Offer(const void* address) {
  ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> live, RequireLiveBuffer(address));
  return Offer(std::move(live));
}

int64_t OfferedBuffers::Offer(std::shared_ptr<Buffer> buffer) {
  absl::MutexLock lock(&mutex_);
  auto slot = std::find(slots_.begin(), slots_.end(), nullptr);
  if (slot == slots_.end()) slot = slots_.insert(slots_.end(), nullptr);
  *slot = std::move(buffer);
  return slot - slots_.begin();
}

absl::StatusOr<std::shared_ptr<Buffer>> OfferedBuffers::Take(int64_t slot) {
  absl::MutexLock lock(&mutex_);
  if (slot < 0 || slot >= static_cast<int64_t>(slots_.size()) || slots_[slot] == nullptr) {
    return absl::NotFoundError(absl::StrCat("onexpu: no buffer is offered in slot ", slot));
  }
  return std::exchange(slots_[slot], nullptr);
}

}  // namespace onexpu::c_api
