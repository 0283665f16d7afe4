#include "pjrt_core/runtime/profiler.h"

#include <algorithm>
#include <utility>

#include "pjrt_core/program/status_macros.h"
#include "pjrt_core/runtime/submission.h"
#include "pjrt_core/runtime/sycl_device.h"
#include "pjrt_core/runtime/timeline.h"
#include "pjrt_core/thunks/library_errors.h"

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
  ONEXPU_RETURN_IF_ERROR(Switch(device.host_to_device(), on));
  ONEXPU_RETURN_IF_ERROR(Switch(device.device_to_host(), on));
  std::shared_ptr<Event> switched;
  {
    Submission submission(device);
    absl::MutexLock lock(&device.submission_mutex());
    switched =
        submission.Submit({}, [&device, on](sycl::queue&) { return Switch(device.compute(), on); })
            .ready;
  }
  return switched->Await();
}

QueueProfile Profile(Timeline& timeline, int64_t begin, int64_t end) {
  QueueProfile profile{.name = timeline.name()};
  if (timeline.last_trace() == nullptr) return profile;
  profile.commands = timeline.last_trace()->Collect();
  profile.dropped = timeline.last_trace()->dropped();
  auto& commands = profile.commands;
  commands.erase(std::remove_if(commands.begin(), commands.end(),
                                [&](const TimedCommand& command) {
                                  return command.end <= begin || command.start >= end;
                                }),
                 commands.end());
  return profile;
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
    for (Timeline* timeline :
         {&device->compute(), &device->host_to_device(), &device->device_to_host()}) {
      profile.queues.push_back(Profile(*timeline, begin, end));
    }
  }
  return profiles;
}

}  // namespace onexpu
