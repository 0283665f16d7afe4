// What a device's eager launches have prepared, found again by what is launched: the same handler
// on the same shapes with the same attributes. A launch then instantiates nothing and copies
// nothing, and knows how long the last ones took.
//
// Holds the sites of the last launches, some hundreds: shapes may be others every time.
// Thread-safe.
#ifndef PJRT_CORE_RUNTIME_LAUNCH_SITES_H_
#define PJRT_CORE_RUNTIME_LAUNCH_SITES_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace onexpu {

struct LaunchSite;  // launch.cc's own

class LaunchSites {
 public:
  // Null if there is none.
  std::shared_ptr<LaunchSite> Find(absl::string_view key) ABSL_LOCKS_EXCLUDED(mutex_);
  // `site`, or the one that somebody else has added meanwhile.
  std::shared_ptr<LaunchSite> Add(absl::string_view key, std::shared_ptr<LaunchSite> site)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Generation = absl::flat_hash_map<std::string, std::shared_ptr<LaunchSite>>;
  static constexpr size_t kGeneration = 512;  // sites

  // Into the young generation. What goes for it, to be destroyed without the lock: handlers' states
  // have deleters of users.
  Generation Insert(absl::string_view key, std::shared_ptr<LaunchSite> site)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  // When the young one is full, the old one goes and it takes its place. What is used is young.
  Generation young_ ABSL_GUARDED_BY(mutex_);
  Generation old_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_LAUNCH_SITES_H_
