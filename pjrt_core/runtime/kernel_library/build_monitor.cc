#include "pjrt_core/runtime/kernel_library/build_monitor.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <system_error>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "pjrt_core/base/environment.h"

namespace onexpu {

BuildMonitor& BuildMonitor::Process() {
  static BuildMonitor* const monitor =
      new BuildMonitor(BuildThreadsFromEnvironment().value_or(kMaxBuildThreads),
                       BuildProgressFromEnvironment().value_or(kDefaultBuildProgress));
  return *monitor;
}

void BuildMonitor::Begin(size_t modules) {
  absl::MutexLock lock(&mutex_);
  if (total_ == 0) begun_ = absl::Now();
  total_ += modules;
}

void BuildMonitor::Loaded() {
  absl::MutexLock lock(&mutex_);
  if (++loaded_ < total_) return;
  loaded_ = total_ = 0;
  all_loaded_.SignalAll();
}

BuildMonitor::Build::Build(BuildMonitor& monitor, bool limited)
    : monitor_(monitor), limited_(limited) {
  absl::MutexLock lock(&monitor_.mutex_);
  // Loads from caches do not start the thread. Compared to a build its cost is negligible.
  if (!monitor_.reports_ && monitor_.interval_ != absl::InfiniteDuration()) {
    try {
      std::thread([&monitor] { monitor.Report(); }).detach();
      monitor_.reports_ = true;
    } catch (const std::system_error&) {  // no thread to be had: the build goes on without reports
    }
  }
  if (!limited_) return;
  const auto has_slot = [&monitor]() ABSL_SHARED_LOCKS_REQUIRED(monitor.mutex_) {
    return monitor.limited_builds_ < monitor.max_parallel_;
  };
  monitor_.mutex_.Await(absl::Condition(&has_slot));
  ++monitor_.limited_builds_;
}

BuildMonitor::Build::~Build() {
  absl::MutexLock lock(&monitor_.mutex_);
  if (limited_) --monitor_.limited_builds_;
}

void BuildMonitor::Report() {
  absl::MutexLock lock(&mutex_);
  absl::Time last_line = absl::InfinitePast();
  while (total_ > 0) {
    const absl::Time next_line = std::max(begun_, last_line) + interval_;
    if (!all_loaded_.WaitWithDeadline(&mutex_, next_line) || total_ == 0) continue;
    last_line = absl::Now();
    const std::string line =
        absl::StrCat("onexpu: building kernels for the device: ", loaded_, " of ", total_,
                     " modules after ", absl::ToInt64Seconds(last_line - begun_), " s\n");
    std::fputs(line.c_str(), stderr);
  }
  reports_ = false;
}

}  // namespace onexpu
