// Records a queue's commands and their device times while a profiler is active.
//
// One trace per timeline, which owns it for the life of the process; thread-safe. Runs without a
// profiler have no overhead: ExecuteContext::trace is null.
//
// Times come from the device: the queue that is used while profiling has SYCL's profiling
// information (SYCL 2020, section 4.6.6.2). A step that knows its command passes its event. For
// other steps (a library submits any number of commands), only the end is known, from a marker
// command. Such a step begins when it is submitted or when the preceding work is complete.
#ifndef PJRT_CORE_DEVICE_COMMAND_TRACE_H_
#define PJRT_CORE_DEVICE_COMMAND_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/optimization.h"
#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "pjrt_core/opencl/unobserved_command.h"
#include "sycl/sycl.hpp"

namespace onexpu {

// A Program whose steps are recorded. A trace outlives the Program.
struct TracedProgram {
  int64_t id = 0;  // of this Program in the process
  std::string name;
  // The optimised HLO, a serialized xla.HloModuleProtoWithConfig; empty if the Program has none.
  std::function<std::string()> hlo;
};

// One execution of a Program, or of a launch outside of Programs.
struct TracedRun {
  std::shared_ptr<const TracedProgram> program;  // null for a launch
  int64_t run_id = 0;
  int64_t call_id = 0;  // of the call in the framework's own trace; 0: unknown
};

// Empty where it does not apply.
struct CommandLabel {
  std::string name;         // to be shown
  std::string kind;         // of thunk; "launch", "copy"
  TracedRun run;            // whose step it is
  std::string instruction;  // that the step is made from
  std::string source;       // "file:line (op)", or one of the two
  std::string work_items;   // of a kernel: "grid:X,Y,Z block:X,Y,Z", in work-groups and work-items
  int64_t bytes = 0;        // of a copy
};

// The label of a copy. No string is built unless a profiler is active.
struct CopyLabel {
  const char* name = "copy";
  size_t bytes = 0;
};

struct TimedCommand {
  CommandLabel label;
  int64_t start = 0;  // nanoseconds since the epoch, as the host's clock has it
  int64_t end = 0;
};

class CommandTrace {
 public:
  // Forgets what is there, and learns how the device's clock stands to the host's. `queue` gives
  // profiling information; it is waited for.
  void Begin(sycl::queue& queue);

  // `submitted`: when the host began to submit it, by Now(). Without `first` it is not known when
  // the command began.
  void Add(CommandLabel label, int64_t submitted, std::optional<sycl::event> first,
           sycl::event last);

  void AddCopy(const CopyLabel& label, int64_t submitted, const sycl::event& event);

  // The commands so far, in their order, that ended after `begin` and began before `end`. Waits for
  // all of them.
  std::vector<TimedCommand> Collect(int64_t begin, int64_t end);
  void Clear();
  // Commands that came when the trace was full.
  int64_t dropped() const;

  static int64_t Now();  // nanoseconds since the epoch

 private:
  struct Pending {
    CommandLabel label;
    int64_t submitted;
    std::optional<sycl::event> first;
    sycl::event last;
  };

  void Settle(Pending command) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  std::deque<Pending> pending_ ABSL_GUARDED_BY(mutex_);
  std::vector<TimedCommand> settled_ ABSL_GUARDED_BY(mutex_);
  int64_t clock_offset_ ABSL_GUARDED_BY(mutex_) = 0;  // host minus device
  int64_t dropped_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The part of a trace that one submission writes, on the thread that submits.
class RunTrace {
 public:
  // Where a step began.
  struct Mark {
    size_t steps;
    int64_t submitted;
  };

  RunTrace(CommandTrace& trace, sycl::queue& queue, TracedRun run)
      : trace_(trace), queue_(queue), run_(std::move(run)) {}

  Mark Begin();
  // The step that has begun has submitted this command.
  void AddCommand(sycl::event event);
  // The step has submitted all: its label's run is this one. A step that held steps
  // of its own (a loop, a branch) is none itself.
  void End(const Mark& mark, CommandLabel label);

 private:
  CommandTrace& trace_;
  sycl::queue& queue_;
  const TracedRun run_;
  size_t steps_ = 0;
  std::optional<sycl::event> first_;
  std::optional<sycl::event> last_;
};

// Submits one command and tells `trace`, if there is one. Its event goes to `event`, if that is
// asked for.
template <typename CommandGroup>
void SubmitCommand(sycl::queue& queue, RunTrace* trace, CommandGroup&& group,
                   std::optional<sycl::event>* event = nullptr) {
  namespace syclex = sycl::ext::oneapi::experimental;
  if (trace == nullptr && event == nullptr) {
    SubmitUnobserved(queue, std::forward<CommandGroup>(group));
    return;
  }
  sycl::event submitted = syclex::submit_with_event(queue, std::forward<CommandGroup>(group));
  if (ABSL_PREDICT_FALSE(trace != nullptr)) trace->AddCommand(submitted);
  if (event != nullptr) *event = std::move(submitted);
}

// The same for a copy that is no step of a Program.
inline void SubmitCopy(sycl::queue& queue, CommandTrace* trace, const char* name, void* destination,
                       const void* source, size_t bytes) {
  if (ABSL_PREDICT_TRUE(trace == nullptr)) {
    CopyUnobserved(queue, destination, source, bytes);
    return;
  }
  const int64_t submitted = CommandTrace::Now();
  trace->AddCopy({name, bytes}, submitted, queue.memcpy(destination, source, bytes));
}

}  // namespace onexpu

#endif  // PJRT_CORE_DEVICE_COMMAND_TRACE_H_
