#include "pjrt_core/runtime/sycl_device/launch_sites.h"

#include <utility>

#include "absl/hash/hash.h"

namespace onexpu {

LaunchSites::Generation LaunchSites::Insert(absl::string_view key,
                                            std::shared_ptr<LaunchSite> site) {
  Generation gone;
  if (young_.size() >= kGeneration) {
    gone = std::exchange(old_, std::move(young_));
    young_ = Generation();
  }
  young_.try_emplace(key, std::move(site));
  return gone;
}

std::shared_ptr<LaunchSite> LaunchSites::Find(absl::string_view key) {
  Generation gone;
  absl::MutexLock lock(&mutex_);
  if (const auto young = young_.find(key); young != young_.end()) return young->second;
  const auto old = old_.find(key);
  if (old == old_.end()) return nullptr;
  std::shared_ptr<LaunchSite> site = old->second;
  gone = Insert(key, site);
  return site;
}

std::shared_ptr<LaunchSite> LaunchSites::Add(absl::string_view key,
                                             std::shared_ptr<LaunchSite> site) {
  Generation gone;
  absl::MutexLock lock(&mutex_);
  if (const auto young = young_.find(key); young != young_.end()) return young->second;
  const size_t hash = absl::HashOf(key);
  size_t& seen = seen_[hash % seen_.size()];
  if (seen == hash) {
    gone = Insert(key, site);
  } else {
    seen = hash;
  }
  return site;
}

void LaunchSites::Clear() {
  Generation young, old;
  absl::MutexLock lock(&mutex_);
  young.swap(young_);
  old.swap(old_);
}

}  // namespace onexpu
