#include "pjrt_core/runtime/buffer/foreign_queue.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/device/event_status.h"
#include "pjrt_core/device/library_errors.h"
#include "pjrt_core/runtime/buffer/device_buffer.h"
#include "pjrt_core/runtime/buffer/submission.h"
#include "pjrt_core/runtime/sycl_device/device_contexts.h"
#include "pjrt_core/runtime/sycl_device/sycl_device.h"

namespace onexpu {
namespace {

// The amount of foreign work is unknown, so no thread waits for it as if it were cheap.
constexpr int64_t kUnknownNanoseconds = 10'000'000;

const SyclDevice& ToSycl(const Device& device) { return static_cast<const SyclDevice&>(device); }

// Contexts are told apart by the number that their hash is.
std::string Describe(const sycl::context& context) {
  std::string names;
  for (const sycl::device& device : context.get_devices()) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", device.get_info<sycl::info::device::name>());
  }
  return absl::StrCat("0x", absl::Hex(std::hash<sycl::context>{}(context)), " (", names, ")");
}

absl::Status CheckContext(const sycl::queue& queue, const SyclDevice& device) {
  if (queue.get_context() == device.context()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("onexpu: the queue is of SYCL context ", Describe(queue.get_context()), ", ",
                   device.debug_string(), " of context ", Describe(device.context()),
                   ": neither can use memory of the other. Use onexpu.dpctl_queue(), which is of "
                   "the device's context, or copy. The platform's default context is the device's "
                   "if ONEAPI_DEVICE_SELECTOR leaves one GPU"));
}

}  // namespace

std::string DescribeContextOf(const Device& device) { return Describe(ToSycl(device).context()); }

absl::StatusOr<Definition> DefineByForeignWork(const ForeignWork& work, Device& device) {
  auto& queue = *static_cast<sycl::queue*>(work.queue);
  auto& target = static_cast<SyclDevice&>(device);
  Definition defined{{}, Event::Completed(absl::OkStatus()), 0};
  std::vector<sycl::event> pending;
  ONEXPU_RETURN_IF_ERROR(CatchLibraryErrors([&]() -> absl::Status {
    ONEXPU_RETURN_IF_ERROR(CheckContext(queue, target));
    if (!work.events.has_value()) queue.wait();
    for (void* event : work.events.value_or(absl::Span<void* const>())) {
      const auto& made = *static_cast<sycl::event*>(event);
      if (!IsComplete(made)) pending.push_back(made);
    }
    return absl::OkStatus();
  }));
  if (pending.empty()) return defined;

  Submission submission(target);
  absl::MutexLock lock(&target.submission_mutex());
  // Our commands must not be held back behind a foreign host task (cpu_device/library_order.h).
  const bool waits = target.traits().runs_libraries_in_host_tasks;
  SubmitOptions options{.blocking = waits, .estimated_nanoseconds = kUnknownNanoseconds};
  defined = submission.Submit(
      std::move(options),
      [events = std::move(pending), waits](sycl::queue& compute, std::optional<sycl::event>* last) {
        *last = compute.ext_oneapi_submit_barrier(events);
        if (waits) WaitUntilComplete(**last);
        return absl::OkStatus();
      });
  defined.version = 0;  // the owner of the memory may write again
  return defined;
}

absl::Status OrderQueueAfter(Buffer& buffer, void* address) {
  auto& queue = *static_cast<sycl::queue*>(address);
  auto& shared = static_cast<DeviceBuffer&>(buffer);
  ONEXPU_ASSIGN_OR_RETURN(const DeviceBuffer::Contents contents, shared.Acquire());
  const TicketRef made = contents.definition.ticket;
  std::optional<sycl::event> pending;
  if (made.timeline != nullptr && !made.timeline->IsComplete(made.ticket)) {
    made.timeline->WaitUntilCommitted(made.ticket);
    pending = made.timeline->DependencyOn(made.ticket);
  }
  ONEXPU_RETURN_IF_ERROR(contents.definition.poison());
  return CatchLibraryErrors([&]() -> absl::Status {
    ONEXPU_RETURN_IF_ERROR(CheckContext(queue, shared.sycl_device()));
    if (pending.has_value()) queue.ext_oneapi_submit_barrier({*pending});
    return absl::OkStatus();
  });
}

absl::StatusOr<void*> NewQueue(const Device& device) {
  void* queue = nullptr;
  ONEXPU_RETURN_IF_ERROR(CatchLibraryErrors([&] {
    queue = new sycl::queue(ToSycl(device).context(), ToSycl(device).sycl_device(),
                            sycl::property::queue::in_order());
    return absl::OkStatus();
  }));
  return queue;
}

void DeleteQueue(void* queue) { delete static_cast<sycl::queue*>(queue); }

absl::StatusOr<int64_t> RootDeviceOrdinal(const Device& device) {
  int64_t ordinal = -1;
  ONEXPU_RETURN_IF_ERROR(CatchLibraryErrors([&] {
    const std::vector<sycl::device> devices = sycl::device::get_devices();
    const auto found =
        std::find(devices.begin(), devices.end(), RootDevice(ToSycl(device).sycl_device()));
    if (found != devices.end()) ordinal = found - devices.begin();
    return absl::OkStatus();
  }));
  if (ordinal < 0) {
    return absl::InternalError(
        absl::StrCat("onexpu: SYCL does not list ", device.debug_string(), " among its devices"));
  }
  return ordinal;
}

}  // namespace onexpu
