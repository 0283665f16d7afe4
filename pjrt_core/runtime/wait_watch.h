// Says what threads wait for when they wait for long.
//
// A driver may wait for ever: after some engine resets, or behind a kernel that does not end. Each
// thread notes its wait for the device where a thread of the process's sees it, which writes a line
// on stderr after every ONEXPU_WAIT_REPORT_SECONDS of one wait. An ordinary wait costs some stores:
// no lock, no allocation, no look at the clock. Thread-safe.
#ifndef PJRT_CORE_RUNTIME_WAIT_WATCH_H_
#define PJRT_CORE_RUNTIME_WAIT_WATCH_H_

#include <cstdint>
#include <string>

namespace onexpu {

// What threads wait for; it lives as long as the process. Called from the watching thread, possibly
// just after the wait has ended.
class WaitSubject {
 public:
  virtual ~WaitSubject() = default;
  // "program 'jit_f' on xpu:0"; `number` is the wait's own. Empty if there is nothing to wait for.
  virtual std::string DescribeWait(uint64_t number) = 0;
  // Asks the device about work that takes so long, and ends it if the device is lost.
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

#endif  // PJRT_CORE_RUNTIME_WAIT_WATCH_H_
