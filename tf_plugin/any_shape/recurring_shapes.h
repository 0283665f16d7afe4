// Which shapes of an op are worth a program: one handles more elements at a time and is one launch,
// but is compiled for each shape.
#ifndef TF_PLUGIN_ANY_SHAPE_RECURRING_SHAPES_H_
#define TF_PLUGIN_ANY_SHAPE_RECURRING_SHAPES_H_

#include <cstddef>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"

namespace onexpu::tf_plugin {

// Thread-safe.
class RecurringShapes {
 public:
  // Whether compiling would cost more than to handle so many elements by so many launches of
  // kernels that take the sizes as arguments. Of large arrays that holds for the first two runs of
  // a shape, of which `hash` is called.
  bool PrefersKernels(int64_t elements, int64_t launches, absl::FunctionRef<size_t()> hash) {
    if (elements <= kMaxElements && launches <= kMaxLaunches) return true;
    const size_t shape = hash();
    absl::MutexLock lock(&mutex_);
    // Forgets all at times, so that an op that never meets a shape twice does not grow.
    if (runs_.size() >= kMaxShapes && !runs_.contains(shape)) runs_.clear();
    uint8_t& runs = runs_[shape];
    if (runs >= kNewRuns) return false;
    ++runs;
    return true;
  }

 private:
  static constexpr int64_t kMaxElements = 1 << 15;
  static constexpr int64_t kMaxLaunches = 3;
  static constexpr size_t kMaxShapes = 1024;
  static constexpr uint8_t kNewRuns = 2;

  absl::Mutex mutex_;
  absl::flat_hash_map<size_t, uint8_t> runs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_ANY_SHAPE_RECURRING_SHAPES_H_
