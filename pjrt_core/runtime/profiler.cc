#include "pjrt_core/runtime/profiler.h"

#include <array>
#include <utility>

#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/device/library_errors.h"
#include "pjrt_core/runtime/buffer/submission.h"
#include "pjrt_core/runtime/queue/timeline.h"
#include "pjrt_core/runtime/sycl_device/sycl_device.h"

namespace onexpu {
namespace {

absl::Status Switch(Timeline& timeline, bool on) {
  return CatchLibraryErrors([&] {
    if (on) {
      timeline.StartTrace();
    } else if (timeline.trace() != nullptr) {
      timeline.StopTrace();
    }
    return absl::OkStatus();
  });
}

// Behind the work that the device has, and before what comes.
absl::Status SwitchDevice(SyclDevice& device, bool on) {
  on ? device.device_pool().StartTrace() : device.device_pool().StopTrace();
  ONEXPU_RETURN_IF_ERROR(Switch(device.host_to_device(), on));
  ONEXPU_RETURN_IF_ERROR(Switch(device.device_to_host(), on));
  Submission submission(device);
  absl::MutexLock lock(&device.submission_mutex());
  return submission.Submit({}, [&device, on](sycl::queue&) { return Switch(device.compute(), on); })
      .poison();
}

QueueProfile Profile(Timeline& timeline, int64_t begin, int64_t end) {
  QueueProfile profile{.name = timeline.name()};
  if (CommandTrace* const trace = timeline.last_trace(); trace != nullptr) {
    profile.commands = trace->Collect(begin, end);
    profile.dropped = trace->dropped();
  }
  return profile;
}

std::array<Timeline*, 3> TimelinesOf(SyclDevice& device) {
  return {&device.compute(), &device.host_to_device(), &device.device_to_host()};
}

}  // namespace

Profiler& Profiler::Get() {
  static auto* const profiler = new Profiler;
  return *profiler;
}

void Profiler::AddDevice(SyclDevice& device) {
  absl::MutexLock lock(&mutex_);
  devices_.push_back(&device);
  if (sessions_ > 0) SwitchDevice(device, true).IgnoreError();
}

absl::Status Profiler::Start() {
  absl::MutexLock lock(&mutex_);
  ++holders_;
  if (++sessions_ > 1) return absl::OkStatus();
  absl::Status status;
  for (SyclDevice* device : devices_) status.Update(SwitchDevice(*device, true));
  return status;
}

absl::Status Profiler::Stop() {
  absl::MutexLock lock(&mutex_);
  if (--sessions_ > 0) return absl::OkStatus();
  absl::Status status;
  for (SyclDevice* device : devices_) status.Update(SwitchDevice(*device, false));
  return status;
}

std::vector<DeviceProfile> Profiler::Collect(int64_t begin, int64_t end) {
  absl::MutexLock lock(&mutex_);
  std::vector<DeviceProfile> profiles;
  for (SyclDevice* device : devices_) {
    DeviceProfile& profile = profiles.emplace_back();
    profile.id = device->id();
    profile.kind = std::string(device->kind());
    for (Timeline* timeline : TimelinesOf(*device)) {
      profile.queues.push_back(Profile(*timeline, begin, end));
    }
    profile.memory = device->device_pool().CollectTrace(begin, end);
  }
  return profiles;
}

void Profiler::Leave() {
  absl::MutexLock lock(&mutex_);
  if (--holders_ > 0) return;
  for (SyclDevice* device : devices_) {
    device->device_pool().ClearTrace();
    for (Timeline* timeline : TimelinesOf(*device)) {
      if (timeline->last_trace() != nullptr) timeline->last_trace()->Clear();
    }
  }
}

}  // namespace onexpu
