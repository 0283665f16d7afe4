// Which shapes an op has met before: a program for a shape that comes back is worth compiling.
#ifndef TF_PLUGIN_ANY_SHAPE_RECURRING_SHAPES_H_
#define TF_PLUGIN_ANY_SHAPE_RECURRING_SHAPES_H_

#include <cstddef>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

namespace onexpu::tf_plugin {

// Thread-safe.
class RecurringShapes {
 public:
  // Counts a run; whether it is one of the first two of `shape`, which is a hash.
  bool IsNew(size_t shape) {
    absl::MutexLock lock(&mutex_);
    // Forgets all at times, so that an op that never meets a shape twice does not grow.
    if (runs_.size() >= kMaxShapes && !runs_.contains(shape)) runs_.clear();
    uint8_t& runs = runs_[shape];
    if (runs >= kNewRuns) return false;
    ++runs;
    return true;
  }

 private:
  static constexpr size_t kMaxShapes = 1024;
  static constexpr uint8_t kNewRuns = 2;

  absl::Mutex mutex_;
  absl::flat_hash_map<size_t, uint8_t> runs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_ANY_SHAPE_RECURRING_SHAPES_H_
