#include "pjrt_core/c_api/offered_buffers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace onexpu::c_api {

OfferedBuffers& OfferedBuffers::Get() {
  static OfferedBuffers* const buffers = new OfferedBuffers;  // never destroyed: exits in any order
  return *buffers;
}

absl::StatusOr<int64_t> OfferedBuffers::Offer(const void* address) {
  std::shared_ptr<Buffer> live = Buffer::FindLive(address);
  if (live == nullptr) {
    return absl::NotFoundError(absl::StrCat("onexpu: no live buffer of this core starts at 0x",
                                            absl::Hex(reinterpret_cast<uintptr_t>(address))));
  }
  absl::MutexLock lock(&mutex_);
  auto slot = std::find(slots_.begin(), slots_.end(), nullptr);
  if (slot == slots_.end()) slot = slots_.insert(slots_.end(), nullptr);
  *slot = std::move(live);
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
