#include "pjrt_core/device/command_trace.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/status/status.h"
#include "pjrt_core/device/event_status.h"
#include "pjrt_core/device/library_errors.h"

namespace onexpu {
namespace {

namespace profiling = sycl::info::event_profiling;

// As many as a trace viewer can still open.
constexpr size_t kMaxCommands = 2'000'000;
// So many events are kept before those that are done give their times and go.
constexpr size_t kPending = 4096;
constexpr int kClockReadings = 5;

}  // namespace

int64_t CommandTrace::Now() {
  return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

void CommandTrace::Begin(sycl::queue& queue) {
  // A command's time of submission is the device's, and lies between two of the host's. The
  // closest pair of several counts.
  int64_t offset = 0;
  int64_t closest = INT64_MAX;
  for (int i = 0; i < kClockReadings; ++i) {
    const int64_t before = Now();
    sycl::event event = queue.ext_oneapi_submit_barrier();
    const int64_t after = Now();
    WaitUntilComplete(event);
    if (after - before >= closest) continue;
    closest = after - before;
    offset = before + closest / 2 -
             static_cast<int64_t>(event.get_profiling_info<profiling::command_submit>());
  }
  Clear();
  absl::MutexLock lock(&mutex_);
  clock_offset_ = offset;
}

void CommandTrace::Add(CommandLabel label, int64_t submitted, std::optional<sycl::event> first,
                       sycl::event last) {
  absl::MutexLock lock(&mutex_);
  if (settled_.size() + pending_.size() >= kMaxCommands) {
    ++dropped_;
    return;
  }
  pending_.push_back({std::move(label), submitted, std::move(first), std::move(last)});
  if (pending_.size() % kPending != 0) return;
  while (!pending_.empty() && IsComplete(pending_.front().last)) {
    Settle(std::move(pending_.front()));
    pending_.pop_front();
  }
}

void CommandTrace::AddCopy(const CopyLabel& label, int64_t submitted, const sycl::event& event) {
  Add({.name = label.name, .kind = "copy", .bytes = static_cast<int64_t>(label.bytes)}, submitted,
      event, event);
}

void CommandTrace::Settle(Pending command) {
  TimedCommand timed{std::move(command.label)};
  const absl::Status read = CatchLibraryErrors([&] {
    timed.end = static_cast<int64_t>(command.last.get_profiling_info<profiling::command_end>()) +
                clock_offset_;
    if (command.first.has_value()) {
      timed.start =
          static_cast<int64_t>(command.first->get_profiling_info<profiling::command_start>()) +
          clock_offset_;
    } else {
      timed.start = std::max(command.submitted, settled_.empty() ? 0 : settled_.back().end);
      timed.start = std::min(timed.start, timed.end);
    }
    return absl::OkStatus();
  });
  // A lost device has no times.
  if (read.ok()) settled_.push_back(std::move(timed));
}

std::vector<TimedCommand> CommandTrace::Collect(int64_t begin, int64_t end) {
  absl::MutexLock lock(&mutex_);
  while (!pending_.empty()) {
    Pending command = std::move(pending_.front());
    pending_.pop_front();
    const absl::Status waited = CatchLibraryErrors([&] {
      WaitUntilComplete(command.last);
      return absl::OkStatus();
    });
    if (waited.ok()) Settle(std::move(command));
  }
  std::vector<TimedCommand> collected;
  for (const TimedCommand& command : settled_) {
    if (command.end > begin && command.start < end) collected.push_back(command);
  }
  return collected;
}

void CommandTrace::Clear() {
  absl::MutexLock lock(&mutex_);
  pending_.clear();
  settled_ = {};
  dropped_ = 0;
}

int64_t CommandTrace::dropped() const {
  absl::MutexLock lock(&mutex_);
  return dropped_;
}

RunTrace::Mark RunTrace::Begin() {
  first_.reset();
  last_.reset();
  return {steps_, CommandTrace::Now()};
}

void RunTrace::AddCommand(sycl::event event) {
  if (!first_.has_value()) first_ = event;
  last_ = std::move(event);
}

void RunTrace::End(const Mark& mark, CommandLabel label) {
  if (steps_ != mark.steps) return;
  ++steps_;
  std::optional<sycl::event> last = std::move(last_);
  if (!last.has_value()) last = queue_.ext_oneapi_submit_barrier();
  label.run = run_;
  trace_.Add(std::move(label), mark.submitted, std::move(first_), *std::move(last));
}

}  // namespace onexpu
