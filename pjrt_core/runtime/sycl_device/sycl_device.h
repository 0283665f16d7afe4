// The runtime's side of a device: timelines, pools, launcher, kernel library, and the lock that
// orders submissions.
//
// Owned by the client, lives as long as the process. Thread-safe. This is the part of a Device that
// only the runtime sees; other code uses device.h.
#ifndef PJRT_CORE_RUNTIME_SYCL_DEVICE_SYCL_DEVICE_H_
#define PJRT_CORE_RUNTIME_SYCL_DEVICE_SYCL_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "pjrt_core/base/environment.h"
#include "pjrt_core/device/device.h"
#include "pjrt_core/device/device_traits.h"
#include "pjrt_core/device/statistics.h"
#include "pjrt_core/runtime/kernel_library/kernel_library.h"
#include "pjrt_core/runtime/memory/device_memory.h"
#include "pjrt_core/runtime/memory/memory_limit.h"
#include "pjrt_core/runtime/memory/memory_pool.h"
#include "pjrt_core/runtime/memory/usm_source.h"
#include "pjrt_core/runtime/queue/launcher.h"
#include "pjrt_core/runtime/queue/timeline.h"
#include "pjrt_core/runtime/sycl_device/launch_sites.h"
#include "sycl/sycl.hpp"

namespace onexpu {

class StagingPool;

struct DeviceOptions {
  int id = 0;
  ScheduleChoice schedules = ScheduleChoice::kAuto;
  SmallWorkChoice small_work = SmallWorkChoice::kAuto;
  MemoryChoice memory;
  int devices_on_host = 1;                 // that share the host's memory
  std::shared_ptr<KernelLibrary> kernels;  // of the SYCL device
  std::vector<bool> copies_from;           // by device id (device_contexts.h)
  std::shared_ptr<StagingPool> staging;    // null if all devices copy directly
};

class SyclDevice final : public Device {
 public:
  static absl::StatusOr<std::unique_ptr<SyclDevice>> Create(Client* client, Statistics* statistics,
                                                            sycl::device device,
                                                            const sycl::context& context,
                                                            const DeviceOptions& options);
  ~SyclDevice() override;

  // Device:
  Client* client() const override { return client_; }
  int id() const override { return options_.id; }
  absl::string_view kind() const override { return kind_; }
  absl::string_view debug_string() const override { return debug_string_; }
  absl::Span<const std::pair<std::string, AttributeValue>> attributes() const override {
    return attributes_;
  }
  MemorySpace* memory(MemoryKind kind) const override {
    return kind == MemoryKind::kDevice ? device_space_.get() : pinned_space_.get();
  }
  MemoryStatistics memory_statistics() const override;
  void ResetMemoryPeaks() override;
  size_t max_kernel_operand_bytes() const override;
  absl::Span<const uint8_t> target_description() const override { return target_; }
  absl::StatusOr<void*> AllocateOrdered(size_t bytes) override;
  void FreeOrdered(void* memory, size_t bytes) override;
  bool CopiesFrom(const Device& other) const override;
  absl::StatusOr<std::shared_ptr<StagingMemory>> AllocateStaging(size_t bytes) override;
  void UseStaging(StagingMemory& staging) override;
  absl::Status Synchronize() override;

  const sycl::device& sycl_device() const { return device_; }
  const sycl::context& context() const { return context_; }
  const DeviceTraits& traits() const { return traits_; }
  // The largest single allocation that kernels access with the usual addressing. The pools also
  // serve larger ones, for Programs whose modules are built for them.
  size_t max_allocation_bytes() const { return usm_.max_allocation_bytes; }
  SmallWorkChoice small_work() const { return options_.small_work; }
  Statistics& statistics() const { return *statistics_; }
  KernelLibrary& kernels() { return *options_.kernels; }
  LaunchSites& launch_sites() { return launch_sites_; }
  DeviceHealth& health() { return health_; }

  MemoryPool& device_pool() { return *device_pool_; }
  Timeline& compute() { return *compute_; }
  Timeline& host_to_device() { return *host_to_device_; }
  Timeline& device_to_host() { return *device_to_host_; }

  // Held while arguments are acquired and work is submitted or given to the launcher: queue order
  // is the order of callers. Never while waiting for the device, except for cheap Programs that
  // call libraries, and for handlers that do (library_order.h); what runs on the caller's queue
  // runs with it held.
  absl::Mutex& submission_mutex() { return submission_mutex_; }
  Launcher& launcher() { return launcher_; }
  // Changes when memory of the device's goes back to the driver.
  uint64_t memory_epoch() const { return memory_epoch_.load(std::memory_order_acquire); }
  // Never the same twice (DeviceMemory::mark).
  uint64_t NewMark() ABSL_EXCLUSIVE_LOCKS_REQUIRED(submission_mutex_) { return ++last_mark_; }

  // Memory whose first use is work of `timeline` that has not been submitted yet; with null,
  // whatever uses it at once. Under pressure waits for all work there is, trims and retries before
  // it answers RESOURCE_EXHAUSTED. Not with locks held.
  absl::StatusOr<std::shared_ptr<DeviceMemory>> Allocate(MemoryKind kind, size_t bytes,
                                                         const Timeline* timeline);

  // Memory for work on the compute queue that is submitted next; call with submission_mutex() held.
  // Waits for committed work only: what the launcher has may need the lock.
  // RetryAfterLauncherDrains does the rest.
  absl::StatusOr<std::shared_ptr<DeviceMemory>> AllocateForSubmission(MemoryKind kind,
                                                                      size_t bytes);

  // Memory that other devices' queues copy to and from as well.
  absl::StatusOr<std::shared_ptr<DeviceMemory>> AllocateStagingMemory(size_t bytes);

  // Runs `attempt`, which takes the submission lock, changes nothing if it fails, and returns a
  // StatusOr. If it fails for lack of memory, waits until the launcher has submitted its work,
  // which uses memory, and retries once.
  template <typename Attempt>
  auto RetryAfterLauncherDrains(Attempt attempt) {
    auto result = attempt();
    if (absl::IsResourceExhausted(result.status()) && WaitForLauncher()) result = attempt();
    return result;
  }

  // The arena of library scratch that all Programs of the device share (they follow one another on
  // the compute queue). Grows, never shrinks. Call with submission_mutex() held.
  absl::StatusOr<std::shared_ptr<DeviceMemory>> Scratch(size_t bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(submission_mutex_);

  // Set by the launcher around its work: the ticket that its thread is submitting for.
  void set_launcher_ticket(Ticket ticket) { launcher_ticket_.store(ticket); }

  // Learns what the queues have finished, so that its memory serves other queues. Not with locks
  // held.
  void CompleteFinished();
  // The same, then frees what is cached.
  void ReleaseUnused();
  // Ends the threads, at the end of the process.
  void Stop();

 private:
  SyclDevice(Client* client, Statistics* statistics, sycl::device device, sycl::context context,
             DeviceOptions options);
  absl::Status Initialize();
  void Describe();
  std::unique_ptr<MemoryPool> MakePool(MemoryKind kind, MemoryLimit limit);
  absl::StatusOr<MemoryPool::Block*> AllocateBlock(MemoryPool& pool, size_t bytes, MemoryUser user);
  absl::StatusOr<std::shared_ptr<DeviceMemory>> AllocateFrom(MemoryKind kind, size_t bytes,
                                                             const Timeline* timeline);
  // Blocks until all that was given to the launcher so far has been submitted. False on its own
  // thread, where that cannot be waited for.
  bool WaitForLauncher();
  Ticket CurrentComputeTicket() const;

  Client* const client_;
  Statistics* const statistics_;
  const sycl::device device_;
  const sycl::context context_;
  const DeviceOptions options_;
  const DeviceTraits& traits_;
  const UsmSource usm_;
  std::string kind_;
  std::string debug_string_;
  std::vector<std::pair<std::string, AttributeValue>> attributes_;
  std::vector<uint8_t> target_;
  std::unique_ptr<MemorySpace> device_space_;
  std::unique_ptr<MemorySpace> pinned_space_;

  DeviceHealth health_;
  std::unique_ptr<Timeline> compute_;
  std::unique_ptr<Timeline> host_to_device_;
  std::unique_ptr<Timeline> device_to_host_;
  std::atomic<uint64_t> memory_epoch_{1};
  std::unique_ptr<MemoryPool> device_pool_;
  std::unique_ptr<MemoryPool> pinned_pool_;

  absl::Mutex submission_mutex_;
  Launcher launcher_;
  std::atomic<Ticket> launcher_ticket_{0};
  uint64_t last_mark_ ABSL_GUARDED_BY(submission_mutex_) = 0;
  std::shared_ptr<DeviceMemory> scratch_ ABSL_GUARDED_BY(submission_mutex_);

  absl::Mutex ordered_mutex_;
  absl::flat_hash_map<void*, MemoryPool::Block*> ordered_ ABSL_GUARDED_BY(ordered_mutex_);

  LaunchSites launch_sites_;
};

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_SYCL_DEVICE_SYCL_DEVICE_H_
