// Reports threads that wait for a device for a long time.
//
// A wait in the driver may never end: after some engine resets, or behind an endless kernel. Each
// thread notes its wait in a slot. One thread of the process reads the slots, and writes a line on
// stderr after every ONEXPU_WAIT_REPORT_SECONDS of one wait. An ordinary wait costs some stores,
// but no lock, no allocation and no clock read. Thread-safe.
#ifndef PJRT_CORE_RUNTIME_QUEUE_WAIT_WATCH_H_
#define PJRT_CORE_RUNTIME_QUEUE_WAIT_WATCH_H_

#include <cstdint>
#include <string>

namespace onexpu {

// The work that a thread waits for. Lives as long as the process. The watching thread calls it,
// possibly just after the wait has ended.
class WaitSubject {
 public:
  virtual ~WaitSubject() = default;
  // "program 'jit_f' on xpu:0"; `number` is the wait's own. Empty if there is nothing to wait for.
  virtual std::string DescribeWait(uint64_t number) = 0;
  // Queries the state of the work, and completes it if the device is lost.
  virtual void ProbeWait(uint64_t number) = 0;
};

// A wait of this thread, from construction to destruction. Waits may nest.
class WatchedWait {
 public:
  WatchedWait(WaitSubject& subject, uint64_t number);
  ~WatchedWait();
  WatchedWait(const WatchedWait&) = delete;
  WatchedWait& operator=(const WatchedWait&) = delete;

 private:
  WaitSubject* outer_;
  uint64_t outer_number_;
};

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_QUEUE_WAIT_WATCH_H_
