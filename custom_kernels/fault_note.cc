#include "custom_kernels/fault_note.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <iterator>

namespace onexpu {
namespace {

struct LastLaunch {
  std::atomic<const char*> name{nullptr};
  std::atomic<size_t> global[3] = {};
  std::atomic<size_t> local[3] = {};
  std::atomic<int> dimensions{0};
};
static_assert(std::atomic<size_t>::is_always_lock_free);  // a signal handler reads it

LastLaunch last_launch;

struct Fault {
  int signal;
  const char* text;
  struct sigaction before;
  std::atomic<bool> is_taken{false};
  std::atomic<bool> is_written{false};
};
Fault faults[] = {{SIGSEGV, "segmentation fault", {}},
                  {SIGBUS, "bus error", {}},
                  {SIGFPE, "arithmetic fault", {}},
                  {SIGILL, "illegal instruction", {}}};

// Only what is safe in a signal handler: no allocation, no locale, no stdio.
class Line {
 public:
  Line& operator<<(const char* text) {
    while (*text != 0 && size_ < sizeof(text_) - 1) text_[size_++] = *text++;
    return *this;
  }
  Line& operator<<(size_t number) {
    char digits[24];
    char* first = std::end(digits);
    *--first = 0;
    do {
      *--first = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    return *this << first;
  }
  void Write() {
    text_[size_++] = '\n';
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text_, size_);
  }

 private:
  char text_[1024];
  size_t size_ = 0;
};

void AppendSizes(const std::atomic<size_t> (&sizes)[3], int dimensions, Line& line) {
  line << "[";
  for (int i = 0; i < dimensions; ++i) {
    if (i > 0) line << ", ";
    line << sizes[i].load(std::memory_order_relaxed);
  }
  line << "]";
}

void WriteLine(const char* fault) {
  const char* const name = last_launch.name.load(std::memory_order_acquire);
  if (name == nullptr) return;
  const int dimensions = last_launch.dimensions.load(std::memory_order_relaxed);
  Line line;
  line << "onexpu: " << fault << "; the last kernel launched on the CPU device was '" << name
       << "', global size ";
  AppendSizes(last_launch.global, dimensions, line);
  if (last_launch.local[0].load(std::memory_order_relaxed) != 0) {
    line << ", local size ";
    AppendSizes(last_launch.local, dimensions, line);
  }
  line.Write();
}

// Several threads may fault at once: one of them writes, the others wait until it has, or their
// fault would end the process before. Not for ever: the writer itself may fault.
void WriteOnce(Fault& fault) {
  if (!fault.is_taken.exchange(true)) {
    WriteLine(fault.text);
    fault.is_written.store(true);
  }
  constexpr timespec kMillisecond{0, 1'000'000};
  for (int i = 0; i < 100 && !fault.is_written.load(); ++i) nanosleep(&kMillisecond, nullptr);
}

void HandleFault(int signal, siginfo_t* information, void*) {
  for (Fault& fault : faults) {
    if (fault.signal != signal) continue;
    // The instruction runs again when this returns, and faults for them; a signal that a process
    // sent is sent again.
    WriteOnce(fault);
    sigaction(signal, &fault.before, nullptr);
    if (information->si_code <= 0) raise(signal);
  }
}

}  // namespace

void NoteFaults() {
  [[maybe_unused]] static const bool once = [] {
    for (Fault& fault : faults) {
      struct sigaction action = {};
      action.sa_sigaction = HandleFault;
      action.sa_flags = SA_SIGINFO | SA_ONSTACK;
      sigaction(fault.signal, &action, &fault.before);
    }
    return true;
  }();
}

void NoteLaunch(const char* name, const size_t (&global)[3], const size_t (&local)[3],
                int dimensions) {
  for (int i = 0; i < 3; ++i) {
    last_launch.global[i].store(global[i], std::memory_order_relaxed);
    last_launch.local[i].store(local[i], std::memory_order_relaxed);
  }
  last_launch.dimensions.store(dimensions, std::memory_order_relaxed);
  last_launch.name.store(name, std::memory_order_release);
}

}  // namespace onexpu
