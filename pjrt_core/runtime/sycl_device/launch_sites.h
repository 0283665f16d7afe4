// What a device's eager launches have prepared, found again by what is launched: the same handler
// on the same shapes with the same attributes. A launch then instantiates nothing and allocates
// nothing for it, and knows how long the last ones took.
//
// Holds the sites of some hundreds of launches that came again: shapes may be others every time,
// and so are attributes that say where in a stream of random numbers a launch begins. Thread-safe.
#ifndef PJRT_CORE_RUNTIME_SYCL_DEVICE_LAUNCH_SITES_H_
#define PJRT_CORE_RUNTIME_SYCL_DEVICE_LAUNCH_SITES_H_

#include <array>
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
  // Keeps `site` if there was a recent launch with the same key. Returns the site to use: `site`,
  // or the one that another thread has added meanwhile.
  std::shared_ptr<LaunchSite> Add(absl::string_view key, std::shared_ptr<LaunchSite> site)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Forgets all sites. What they hold ends with the launches that use them. Not with locks held:
  // handlers' states have deleters of users.
  void Clear() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Generation = absl::flat_hash_map<std::string, std::shared_ptr<LaunchSite>>;
  static constexpr size_t kGeneration = 512;  // sites

  // Into the young generation. What goes for it, to be destroyed without the lock.
  Generation Insert(absl::string_view key, std::shared_ptr<LaunchSite> site)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  // When the young one is full, the old one goes and it takes its place. What is used is young.
  Generation young_ ABSL_GUARDED_BY(mutex_);
  Generation old_ ABSL_GUARDED_BY(mutex_);
  // Hashes of keys of launches that were not kept, by their low bits.
  std::array<size_t, 2 * kGeneration> seen_ ABSL_GUARDED_BY(mutex_) = {};
};

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_SYCL_DEVICE_LAUNCH_SITES_H_
