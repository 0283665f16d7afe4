// Module builds of this process: limits how many run at once, and reports slow ones on stderr.
//
// One per process, so that programs that are loaded at the same time share the limit and the line.
// Thread-safe.
#ifndef PJRT_CORE_RUNTIME_KERNEL_LIBRARY_BUILD_MONITOR_H_
#define PJRT_CORE_RUNTIME_KERNEL_LIBRARY_BUILD_MONITOR_H_

#include <cstddef>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace onexpu {

class BuildMonitor {
 public:
  // Has the limits of ONEXPU_BUILD_THREADS and ONEXPU_BUILD_PROGRESS_SECONDS, or their defaults if
  // they are invalid, which the client reports.
  static BuildMonitor& Process();

  // `interval` is the time before the first line and between lines; if it is infinite, no lines are
  // written.
  BuildMonitor(size_t max_parallel, absl::Duration interval)
      : max_parallel_(max_parallel), interval_(interval) {}

  size_t max_parallel() const { return max_parallel_; }

  // Announces that `modules` modules will be loaded, some of them from caches. Call Loaded() once
  // for each, also if it fails.
  void Begin(size_t modules);
  void Loaded();

  // One build by the device's compiler. If `limited`, the constructor waits until fewer than
  // max_parallel() such builds are running.
  class Build {
   public:
    Build(BuildMonitor& monitor, bool limited);
    ~Build();
    Build(const Build&) = delete;
    Build& operator=(const Build&) = delete;

   private:
    BuildMonitor& monitor_;
    const bool limited_;
  };

 private:
  void Report();  // a thread's loop

  const size_t max_parallel_;
  const absl::Duration interval_;
  absl::Mutex mutex_;
  absl::CondVar all_loaded_;
  absl::Time begun_ ABSL_GUARDED_BY(mutex_);  // when total_ became positive
  size_t total_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t loaded_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t limited_builds_ ABSL_GUARDED_BY(mutex_) = 0;
  bool reports_ ABSL_GUARDED_BY(mutex_) = false;  // the thread runs
};

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_KERNEL_LIBRARY_BUILD_MONITOR_H_
