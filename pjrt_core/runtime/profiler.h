// Profiling of all devices: when their commands are noted, and what was.
//
// One per process; thread-safe. Sessions may overlap (a framework each): commands are noted while
// there is one, and each session takes those of its time.
#ifndef PJRT_CORE_RUNTIME_PROFILER_H_
#define PJRT_CORE_RUNTIME_PROFILER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "pjrt_core/device/command_trace.h"
#include "pjrt_core/runtime/memory/memory_trace.h"

namespace onexpu {

class SyclDevice;
class Timeline;

struct QueueProfile {
  std::string name;  // of the timeline
  std::vector<TimedCommand> commands;
  int64_t dropped = 0;  // commands for which there was no room
};

struct DeviceProfile {
  int id = 0;
  std::string kind;
  std::vector<QueueProfile> queues;
  std::vector<MemoryEvent> memory;  // of the device's pool
};

class Profiler {
 public:
  static Profiler& Get();

  // A device of the process, once it is complete. It takes part in a session that runs already, if
  // it can: without times it works all the same.
  void AddDevice(SyclDevice& device);

  // Begin and end a session. They do not wait for the launcher, because its pending work may need a
  // lock that the caller holds (the GIL); that work counts as submitted before them.
  absl::Status Start();
  absl::Status Stop();

  // What ended after `begin` and began before `end` (nanoseconds since the epoch). Waits for the
  // devices.
  std::vector<DeviceProfile> Collect(int64_t begin, int64_t end);

  // A session that was started has what it wanted: after the last one all is forgotten.
  void Leave();

 private:
  absl::Mutex mutex_;
  std::vector<SyclDevice*> devices_ ABSL_GUARDED_BY(mutex_);
  int sessions_ ABSL_GUARDED_BY(mutex_) = 0;  // that run
  int holders_ ABSL_GUARDED_BY(mutex_) = 0;   // that have not left
};

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_PROFILER_H_
