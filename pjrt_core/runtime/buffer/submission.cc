#include "pjrt_core/runtime/buffer/submission.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/device/library_errors.h"

namespace onexpu {

absl::StatusOr<char*> Submission::Read(const DeviceBuffer& buffer) {
  ONEXPU_ASSIGN_OR_RETURN(DeviceBuffer::Contents contents, buffer.Acquire());
  return Read(contents);
}

char* Submission::Read(const DeviceBuffer::Contents& contents) {
  const Definition& definition = contents.definition;
  if (!definition.ready->IsKnown()) {
    undefined_.push_back(definition.ready);
    DependOn(definition.ticket);
  } else if (!definition.ready->status().ok()) {
    if (poison_.ok()) poison_ = definition.ready->status();
    if (contents.memory == nullptr) return nullptr;
  }
  memories_.push_back(contents.memory);
  return contents.address();
}

absl::StatusOr<std::shared_ptr<DeviceMemory>> Submission::Allocate(MemoryKind kind, size_t bytes) {
  ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<DeviceMemory> memory,
                          device_.AllocateForSubmission(kind, bytes));
  memories_.push_back(memory);
  return memory;
}

absl::StatusOr<std::shared_ptr<DeviceMemory>> Submission::Donate(
    const DeviceBuffer::Contents& contents, size_t bytes, MemoryKind kind) {
  if (contents.memory == nullptr) return Copy(contents, bytes, kind);
  const bool own = contents.memory->HasSingleOwner() && !contents.memory->is_external() &&
                   contents.offset == 0 && contents.memory->size() >= bytes;
  if (!own) return Copy(contents, bytes, kind);
  Read(contents);
  // Pending reads of the old contents on other queues come first.
  for (TicketRef use : contents.memory->uses()) DependOn(use);
  return contents.memory;
}

absl::StatusOr<std::shared_ptr<DeviceMemory>> Submission::Copy(
    const DeviceBuffer::Contents& contents, size_t bytes, MemoryKind kind) {
  ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<DeviceMemory> memory, Allocate(kind, bytes));
  const char* source = Read(contents);
  if (source != nullptr && bytes > 0) copies_.push_back({memory->address(), source, bytes});
  return memory;
}

uint64_t Submission::MemoryEpoch() const {
  // The owner of the memory may free it before the next run.
  constexpr uint64_t kOnce = uint64_t{1} << 63;
  for (const std::shared_ptr<DeviceMemory>& memory : memories_) {
    if (memory != nullptr && memory->is_external()) return kOnce | device_.NewMark();
  }
  return device_.memory_epoch();
}

void Submission::DependOn(TicketRef ticket) {
  if (ticket.timeline == nullptr || ticket.timeline == &device_.compute()) return;
  if (ticket.timeline->IsComplete(ticket.ticket)) return;
  for (TicketRef& known : dependencies_) {
    if (known.timeline == ticket.timeline) {
      known.ticket = std::max(known.ticket, ticket.ticket);
      return;
    }
  }
  dependencies_.push_back(ticket);
}

bool Submission::GoesInline(const SubmitOptions& options) const {
  if (options.blocking || device_.launcher().busy()) return false;
  // Another device's launcher has yet to submit what this depends on, or the host has to wait.
  for (TicketRef dependency : dependencies_) {
    if (!dependency.timeline->IsCommitted(dependency.ticket)) return false;
    if (!dependency.timeline->SharesContextWith(device_.compute())) return false;
  }
  return true;
}

CallerQueue* Submission::CallerQueueFor(const SubmitOptions& options) const {
  if (options.cost_model == nullptr) return nullptr;
  if (!options.cost_model->wants_idle_device()) {
    options.cost_model->ObserveResting();
    return nullptr;
  }
  // What is reserved later waits for the submission lock, so an idle device stays idle.
  if (!device_.compute().IsIdle()) {
    options.cost_model->ObserveBehindOthers();
    return nullptr;
  }
  if (!options.cost_model->prefers_caller() || device_.launcher().busy()) return nullptr;
  // A run on several devices: one thread would do their work one after another.
  if (options.on_submitted != nullptr) return nullptr;
  for (TicketRef dependency : dependencies_) {
    if (!dependency.timeline->IsComplete(dependency.ticket)) return nullptr;
  }
  return device_.compute().caller_queue();
}

absl::Status Submission::RunOnCaller(
    CallerQueue& caller, SubmitOptions options,
    absl::FunctionRef<absl::Status(sycl::queue&, std::optional<sycl::event>*)> body) {
  const auto start = std::chrono::steady_clock::now();
  absl::Status status = CatchLibraryErrors([&] {
    ONEXPU_RETURN_IF_ERROR(Prepare(caller.queue));
    return body(caller.queue, /*last=*/nullptr);
  });
  options.cost_model->ObserveOnCaller((std::chrono::steady_clock::now() - start).count());
  return status;
}

Timeline::Reservation Submission::Reserve(const SubmitOptions& options) {
  Timeline::Reservation reservation =
      device_.compute().Reserve(options.estimated_nanoseconds, options.cost_model, options.label);
  for (const std::shared_ptr<DeviceMemory>& memory : memories_) {
    memory->AddUse({&device_.compute(), reservation.ticket});
  }
  return reservation;
}

absl::Status Submission::Prepare(sycl::queue& queue) {
  if (device_.health().lost()) return device_.health().status();
  ONEXPU_RETURN_IF_ERROR(poison_);
  const auto failed_input = [&]() -> absl::Status {
    for (const std::shared_ptr<Event>& input : undefined_) {
      if (input->IsKnown() && !input->status().ok()) return input->status();
    }
    return absl::OkStatus();
  };
  ONEXPU_RETURN_IF_ERROR(failed_input());
  if (!dependencies_.empty()) {
    std::vector<sycl::event> events;
    for (TicketRef dependency : dependencies_) {
      dependency.timeline->WaitUntilCommitted(dependency.ticket);
      if (!dependency.timeline->SharesContextWith(device_.compute())) {
        dependency.timeline->Wait(dependency.ticket);
        ONEXPU_RETURN_IF_ERROR(failed_input());
        continue;
      }
      std::optional<sycl::event> event = dependency.timeline->DependencyOn(dependency.ticket);
      if (event.has_value()) events.push_back(*std::move(event));
    }
    if (!events.empty()) queue.ext_oneapi_submit_barrier(events);
  }
  for (const CopyCommand& copy : copies_) {
    SubmitCopy(queue, device_.compute().trace(), "copy of an operand in use", copy.destination,
               copy.source, copy.bytes);
  }
  return absl::OkStatus();
}

void Submission::Run(
    Ticket ticket, SubmitOptions options,
    absl::FunctionRef<absl::Status(sycl::queue&, std::optional<sycl::event>*)> body) {
  Timeline& compute = device_.compute();
  sycl::queue& queue = compute.queue();
  std::optional<sycl::event> last;
  absl::Status status = CatchLibraryErrors([&] {
    ONEXPU_RETURN_IF_ERROR(Prepare(queue));
    return body(queue, &last);
  });
  // Work that failed halfway has submitted something all the same: its memory is in use until that
  // is done.
  if (!last.has_value() || !status.ok()) {
    absl::Status asked = CatchLibraryErrors([&] {
      last = queue.ext_oneapi_get_last_event();
      return absl::OkStatus();
    });
    if (status.ok()) status = std::move(asked);
  }
  if (options.on_submitted != nullptr) options.on_submitted(status);
  compute.Commit(ticket, std::move(last), std::move(status), std::move(options.keep_alive));
}

}  // namespace onexpu
