// One unit of work on a device's compute queue: a Program's execution, an eager launch, a copy
// between memories.
//
// Made, filled and submitted by one thread with the device's submission lock held from the first
// argument to Submit, so that queue order is the order in which callers took their arguments. The
// work is submitted inline, or by the launcher when it is blocking or the launcher is busy. Small
// work that has nothing to wait for may run at once, on the caller's queue: it is complete when
// Submit returns, and takes no ticket. Declare it before the lock: what it holds may run callbacks
// of users when it goes.
//
//   Submission submission(device);
//   absl::MutexLock lock(&device.submission_mutex());
//   ONEXPU_ASSIGN_OR_RETURN(char* x, submission.Read(operand));
//   ONEXPU_ASSIGN_OR_RETURN(auto y, submission.Allocate(MemoryKind::kDevice, bytes));
//   Definition made = submission.Submit(options, [=](sycl::queue& queue) { ... });
//   auto result = std::make_shared<DeviceBuffer>(shape, space, DeviceBuffer::Contents{y, 0, made});
#ifndef PJRT_CORE_RUNTIME_BUFFER_SUBMISSION_H_
#define PJRT_CORE_RUNTIME_BUFFER_SUBMISSION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/runtime/buffer/device_buffer.h"
#include "pjrt_core/runtime/memory/device_memory.h"
#include "pjrt_core/runtime/sycl_device/sycl_device.h"
#include "sycl/sycl.hpp"

namespace onexpu {

struct SubmitOptions {
  bool blocking = false;  // waits for the device or the host: through the launcher
  int64_t estimated_nanoseconds =
      0;  // of device time; what is small is waited for without a thread hop
  RunCostModel* cost_model = nullptr;      // may be null; owned by keep_alive
  Timeline::Label label;                   // the same
  std::shared_ptr<const void> keep_alive;  // until the work is complete
  // Receives the status of the submission before the work becomes observable. May be null.
  absl::AnyInvocable<void(const absl::Status&)> on_submitted;
};

class Submission {
 public:
  explicit Submission(SyclDevice& device) : device_(device) {}

  // Completes finished tickets if the work would run on the caller's queue of an idle device. Call
  // before taking the submission lock.
  static void PollBeforeSubmit(const RunCostModel& cost_model, SyclDevice& device) {
    if (cost_model.wants_idle_device() && !device.compute().IsIdle()) device.compute().Poll();
  }

  // The work reads the buffer: its address. A buffer that is an error poisons the work.
  absl::StatusOr<char*> Read(const DeviceBuffer& buffer);
  char* Read(const DeviceBuffer::Contents& contents);

  // Fresh memory for the work to write.
  absl::StatusOr<std::shared_ptr<DeviceMemory>> Allocate(MemoryKind kind, size_t bytes);

  // Memory that the work may write and that starts with `contents`: the donor's own memory if it
  // has no other owner and no other argument reads it, otherwise a copy. The caller deletes the
  // donor.
  absl::StatusOr<std::shared_ptr<DeviceMemory>> Donate(const DeviceBuffer::Contents& contents,
                                                       size_t bytes, MemoryKind kind);
  // The same without the donor's consent: always a copy.
  absl::StatusOr<std::shared_ptr<DeviceMemory>> Copy(const DeviceBuffer::Contents& contents,
                                                     size_t bytes, MemoryKind kind);

  // Memory that the device keeps in compute order: constants, scratch.
  void Use(std::shared_ptr<DeviceMemory> memory) { memories_.push_back(std::move(memory)); }

  // What a DirectQueue is told of the memory that the work has been given. Call with
  // submission_mutex() held.
  uint64_t MemoryEpoch() const;

  // Whether the work is known to be poisoned already.
  const absl::Status& poison() const { return poison_; }

  // Body: absl::Status(sycl::queue&), or absl::Status(sycl::queue&, std::optional<sycl::event>*
  // last) for one that may know the event of its last command, which otherwise costs a marker; null
  // if the event is not needed. Movable. Its status or exception becomes the outcome: the
  // definition's ready event has it on return if the work failed inline.
  template <typename Body>
  Definition Submit(SubmitOptions options, Body body);

 private:
  struct CopyCommand {
    char* destination;
    const char* source;
    size_t bytes;
  };

  Timeline::Reservation Reserve(const SubmitOptions& options);
  // Where the work runs at once, if it does.
  CallerQueue* CallerQueueFor(const SubmitOptions& options) const;
  absl::Status RunOnCaller(
      CallerQueue& caller, SubmitOptions options,
      absl::FunctionRef<absl::Status(sycl::queue&, std::optional<sycl::event>*)> body);
  void DependOn(TicketRef ticket);
  bool GoesInline(const SubmitOptions& options) const;
  void Run(Ticket ticket, SubmitOptions options,
           absl::FunctionRef<absl::Status(sycl::queue&, std::optional<sycl::event>*)> body);
  absl::Status Prepare(sycl::queue& queue);

  SyclDevice& device_;
  absl::Status poison_;
  absl::InlinedVector<std::shared_ptr<DeviceMemory>, 8> memories_;
  absl::InlinedVector<TicketRef, 2> dependencies_;  // on other timelines
  absl::InlinedVector<std::shared_ptr<Event>, 2>
      undefined_;  // inputs whose outcome is not known yet
  absl::InlinedVector<CopyCommand, 1> copies_;
};

template <typename Body>
Definition Submission::Submit(SubmitOptions options, Body body) {
  auto work = [body = std::move(body)](sycl::queue& queue,
                                       std::optional<sycl::event>* last) -> absl::Status {
    if constexpr (std::is_invocable_v<const Body&, sycl::queue&, std::optional<sycl::event>*>) {
      return body(queue, last);
    } else {
      return body(queue);
    }
  };
  if (CallerQueue* const caller = CallerQueueFor(options)) {
    return {
        {}, Event::Completed(RunOnCaller(*caller, std::move(options), work)), NewContentVersion()};
  }
  Timeline::Reservation reservation = Reserve(options);
  Definition definition{
      {&device_.compute(), reservation.ticket}, std::move(reservation.done), NewContentVersion()};
  if (GoesInline(options)) {
    Run(reservation.ticket, std::move(options), work);
    return definition;
  }
  // The ticket keeps the memory. Held by the work, too, the temporaries of every run that waits for
  // the launcher would be memory of their own.
  auto memories = std::move(memories_);
  auto task = [submission = std::move(*this), ticket = reservation.ticket,
               options = std::move(options), work = std::move(work)]() mutable {
    submission.device_.set_launcher_ticket(ticket);
    const WatchedWait watched(submission.device_.compute(), ticket);
    submission.Run(ticket, std::move(options), work);
  };
  memories_ = std::move(memories);
  device_.launcher().Enqueue(std::move(task));
  return definition;
}

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_BUFFER_SUBMISSION_H_
