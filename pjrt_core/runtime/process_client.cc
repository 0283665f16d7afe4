#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "pjrt_core/base/environment.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/device/library_errors.h"
#include "pjrt_core/ffi/registry.h"
#include "pjrt_core/runtime/client.h"
#include "pjrt_core/runtime/memory/staging_pool.h"
#include "pjrt_core/runtime/memory/usm_source.h"
#include "pjrt_core/runtime/profiler.h"
#include "pjrt_core/runtime/program/program_loader.h"
#include "pjrt_core/runtime/sycl_device/device_contexts.h"
#include "pjrt_core/runtime/sycl_device/discovery/device_discovery.h"
#include "pjrt_core/runtime/sycl_device/fork_guard.h"
#include "pjrt_core/runtime/sycl_device/sycl_device.h"
#include "pjrt_core/runtime/sycl_device/target_description.h"

namespace onexpu {
namespace {

constexpr char kVersion[] = "onexpu 0.1.0";

// The program that builds native code; empty where it is not installed.
std::string Builder() {
  std::string path = absl::StrCat(LibraryDirectory(), "/onexpu-build");
  return access(path.c_str(), X_OK) == 0 ? path : "";
}

// The memory that devices exchange data through, or null if all of them copy directly.
std::shared_ptr<StagingPool> StagingFor(const std::vector<sycl::device>& devices,
                                        const DeviceContexts& contexts) {
  bool is_needed = false;
  for (size_t i = 0; i < devices.size(); ++i) {
    for (size_t j = 0; j < i; ++j) is_needed = is_needed || !contexts.copies_from[i][j];
  }
  if (!is_needed) return nullptr;
  size_t largest = ~size_t{0};
  for (const sycl::device& device : devices) {
    largest = std::min(largest, AllocationLimit(device).value_or(~size_t{0}));
  }
  return std::make_shared<StagingPool>(UsmSource{devices.front(), contexts.staging, largest});
}

class ProcessClient final : public Client {
 public:
  static absl::StatusOr<std::unique_ptr<ProcessClient>> Create(const ClientOptions& wanted) {
    ONEXPU_ASSIGN_OR_RETURN(const ScheduleChoice schedules, ScheduleChoiceFromEnvironment());
    ONEXPU_ASSIGN_OR_RETURN(const SmallWorkChoice small_work, SmallWorkChoiceFromEnvironment());
    MemoryChoice memory;
    ONEXPU_ASSIGN_OR_RETURN(memory.bytes, MemoryLimitFromEnvironment());
    ONEXPU_ASSIGN_OR_RETURN(memory.fraction, MemoryFractionFromEnvironment());
    ONEXPU_RETURN_IF_ERROR(KernelChecksFromEnvironment().status());
    ONEXPU_ASSIGN_OR_RETURN(const bool deterministic, DeterministicFromEnvironment());
    ONEXPU_ASSIGN_OR_RETURN(const bool exact_division, ExactDivisionFromEnvironment());
    ONEXPU_ASSIGN_OR_RETURN(const bool may_copy_directly, PeerCopiesFromEnvironment());
    ONEXPU_RETURN_IF_ERROR(BuildThreadsFromEnvironment().status());
    ONEXPU_RETURN_IF_ERROR(BuildProgressFromEnvironment().status());
    ONEXPU_RETURN_IF_ERROR(WaitReportFromEnvironment().status());
    ONEXPU_ASSIGN_OR_RETURN(const CacheLimits cache_limits, CacheLimitsFromEnvironment());
    ONEXPU_ASSIGN_OR_RETURN(const std::optional<int> num_cpu_devices,
                            NumCpuDevicesFromEnvironment());
    ONEXPU_ASSIGN_OR_RETURN(const DiscoveredDevices discovered,
                            DiscoverDevices(num_cpu_devices.value_or(wanted.num_cpu_devices)));
    const std::vector<sycl::device>& found = discovered.devices;
    auto client = std::unique_ptr<ProcessClient>(new ProcessClient);
    for (const std::string& note : discovered.notes) {
      std::fprintf(stderr, "onexpu: %s\n", note.c_str());
    }
    ONEXPU_RETURN_IF_ERROR(CatchLibraryErrors([&]() -> absl::Status {
      ONEXPU_ASSIGN_OR_RETURN(const DeviceContexts contexts,
                              MakeDeviceContexts(found, may_copy_directly));
      const std::shared_ptr<StagingPool> staging = StagingFor(found, contexts);
      const auto devices_on_host = absl::c_count_if(found, HasMemoryOfHost);
      for (size_t i = 0; i < found.size(); ++i) {
        const sycl::device& device = found[i];
        std::shared_ptr<KernelLibrary>& kernels = client->kernels_[device];
        if (kernels == nullptr) {
          kernels = KernelLibrary::Create(device, contexts.contexts[i], CacheDirectory(), Builder(),
                                          cache_limits, exact_division);
        }
        const DeviceOptions options{.id = static_cast<int>(client->owned_.size()),
                                    .schedules = schedules,
                                    .small_work = small_work,
                                    .memory = memory,
                                    .devices_on_host = static_cast<int>(devices_on_host),
                                    .kernels = kernels,
                                    .copies_from = contexts.copies_from[i],
                                    .staging = staging};
        ONEXPU_ASSIGN_OR_RETURN(std::unique_ptr<SyclDevice> created,
                                SyclDevice::Create(client.get(), &client->statistics_, device,
                                                   contexts.contexts[i], options));
        client->devices_.push_back(created.get());
        client->owned_.push_back(std::move(created));
      }
      client->platform_version_ = absl::StrCat(
          kVersion, "; ", found.front().get_platform().get_info<sycl::info::platform::name>(), " ",
          found.front().get_info<sycl::info::device::driver_version>(),
          // JAX's persistent cache has the version in its keys.
          deterministic ? "; deterministic" : "");
      for (const auto& device : client->owned_) Profiler::Get().AddDevice(*device);
      return absl::OkStatus();
    }));
    return client;
  }

  absl::string_view platform_name() const override { return "xpu"; }
  absl::string_view platform_version() const override { return platform_version_; }
  absl::Span<Device* const> devices() const override { return devices_; }

  absl::StatusOr<Device*> LookupDevice(int id) const override {
    if (id >= 0 && static_cast<size_t>(id) < devices_.size()) return devices_[id];
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: no device ", id, ": there are ", devices_.size()));
  }

  absl::StatusOr<std::shared_ptr<LoadedProgram>> Load(program::Container program,
                                                      absl::Span<const int> device_ids) override {
    ONEXPU_RETURN_IF_ERROR(CheckNotForked());
    std::vector<SyclDevice*> devices;
    for (int id : device_ids) {
      ONEXPU_ASSIGN_OR_RETURN(Device * device, LookupDevice(id));
      devices.push_back(static_cast<SyclDevice*>(device));
    }
    return LoadProgram(std::move(program), std::move(devices));
  }

  void PrepareToLoad() override {
    for (const auto& [device, library] : kernels_) library->Prepare();
  }

  HandlerRegistry& handlers() override { return HandlerRegistry::Process(); }
  Statistics& statistics() override { return statistics_; }

  void ReleaseUnused() {
    for (const auto& device : owned_) device->ReleaseUnused();
  }
  void Stop() {
    for (const auto& device : owned_) device->Stop();
  }

 private:
  ProcessClient() = default;

  Statistics statistics_;
  // A SYCL device that counts as several builds a kernel once.
  std::unordered_map<sycl::device, std::shared_ptr<KernelLibrary>> kernels_;
  std::vector<std::unique_ptr<SyclDevice>> owned_;
  std::vector<Device*> devices_;
  std::string platform_version_;
};

// The only global. The client lives as long as the process, because events, buffers and threads of
// frameworks refer to it until the end. Its holders are counted: when the last one releases it, its
// cached memory is freed.
struct Singleton {
  absl::Mutex mutex;
  ProcessClient* client ABSL_GUARDED_BY(mutex) = nullptr;
  std::weak_ptr<Client> handle ABSL_GUARDED_BY(mutex);
};

Singleton& TheSingleton() {
  static Singleton* const singleton = new Singleton;
  return *singleton;
}

// Runs at the end of the process, before SYCL's own destructors: nothing may be in flight then.
// Unowned memory is freed while the driver still works. The driver's own shutdown clears the
// commands of that memory only after it has destroyed their queues (OpenCL on CPUs: "Pure virtual
// function called").
void StopAtExit() {
  if (!CheckNotForked().ok()) return;
  Singleton& singleton = TheSingleton();
  absl::MutexLock lock(&singleton.mutex);
  if (singleton.client == nullptr) return;
  singleton.client->Stop();
  singleton.client->ReleaseUnused();
}

}  // namespace

absl::StatusOr<std::shared_ptr<Client>> Client::Get(const ClientOptions& options) {
  ONEXPU_RETURN_IF_ERROR(CheckNotForked());
  Singleton& singleton = TheSingleton();
  absl::MutexLock lock(&singleton.mutex);
  if (std::shared_ptr<Client> client = singleton.handle.lock()) return client;
  if (singleton.client == nullptr) {
    ONEXPU_ASSIGN_OR_RETURN(std::unique_ptr<ProcessClient> created, ProcessClient::Create(options));
    singleton.client = created.release();
    InstallForkGuard();
    std::atexit(StopAtExit);
  }
  ProcessClient* const client = singleton.client;
  std::shared_ptr<Client> handle(client, [client](Client*) { client->ReleaseUnused(); });
  singleton.handle = handle;
  return handle;
}

absl::Status Client::Probe() {
  ONEXPU_RETURN_IF_ERROR(CheckNotForked());
  ONEXPU_ASSIGN_OR_RETURN(const std::optional<int> num_cpu_devices, NumCpuDevicesFromEnvironment());
  return DiscoverDevices(num_cpu_devices.value_or(1)).status();
}

}  // namespace onexpu
