#include "pjrt_core/runtime/sycl_device/sycl_device.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/cpu_device/caller_queue.h"
#include "pjrt_core/device/library_errors.h"
#include "pjrt_core/runtime/memory/level_zero_memory.h"
#include "pjrt_core/runtime/memory/staging_pool.h"
#include "pjrt_core/runtime/sycl_device/target_description.h"

namespace onexpu {

SyclDevice::SyclDevice(Client* client, Statistics* statistics, sycl::device device,
                       sycl::context context, DeviceOptions options)
    : client_(client),
      statistics_(statistics),
      device_(std::move(device)),
      context_(std::move(context)),
      options_(std::move(options)),
      traits_(TraitsOf(device_)),
      usm_{device_, context_, AllocationLimit(device_).value_or(~size_t{0})} {}

SyclDevice::~SyclDevice() { Stop(); }

absl::StatusOr<std::unique_ptr<SyclDevice>> SyclDevice::Create(Client* client,
                                                               Statistics* statistics,
                                                               sycl::device device,
                                                               const sycl::context& context,
                                                               const DeviceOptions& options) {
  std::unique_ptr<SyclDevice> result(
      new SyclDevice(client, statistics, std::move(device), context, options));
  ONEXPU_RETURN_IF_ERROR(CatchLibraryErrors([&] { return result->Initialize(); }));
  return result;
}

absl::Status SyclDevice::Initialize() {
  auto on_error = [this](sycl::exception_list errors) {
    for (const std::exception_ptr& error : errors) {
      health_.MarkLost(
          CatchLibraryErrors([&]() -> absl::Status { std::rethrow_exception(error); }));
    }
  };
  auto timeline = [&](const char* name) {
    std::optional<CallerQueue> caller_queue;
    if (options_.small_work != SmallWorkChoice::kDevice) {
      caller_queue = MakeCallerQueue(context_, device_, on_error);
    }
    return std::make_unique<Timeline>(name, context_, device_, on_error, &health_,
                                      std::move(caller_queue));
  };
  compute_ = timeline("compute");
  host_to_device_ = timeline("host_to_device");
  device_to_host_ = timeline("device_to_host");

  device_pool_ = MakePool(MemoryKind::kDevice,
                          LimitOf(AskMemory(device_, options_.devices_on_host), options_.memory));
  pinned_pool_ = MakePool(MemoryKind::kPinnedHost, PinnedLimit());

  device_space_ = std::make_unique<MemorySpace>(this, MemoryKind::kDevice, 2 * options_.id);
  pinned_space_ = std::make_unique<MemorySpace>(this, MemoryKind::kPinnedHost, 2 * options_.id + 1);
  target_ = DescribeTarget(device_, options_.schedules);
  Describe();
  return absl::OkStatus();
}

void SyclDevice::Describe() {
  const std::string name = device_.get_info<sycl::info::device::name>();
  kind_ = absl::StrCat(traits_.kind_prefix, name);
  debug_string_ = absl::StrCat("xpu:", options_.id, " (", kind_, ")");
  health_.set_device(debug_string_);
  attributes_ = {
      {"name", name},
      {"vendor", device_.get_info<sycl::info::device::vendor>()},
      {"driver_version", device_.get_info<sycl::info::device::driver_version>()},
      {"backend", std::string(traits_.backend)},
      {"compute_units",
       static_cast<int64_t>(device_.get_info<sycl::info::device::max_compute_units>())},
      {"memory_bytes",
       static_cast<int64_t>(device_.get_info<sycl::info::device::global_mem_size>())},
      // A number, because the frameworks' clients reject attributes of type bool.
      {"has_fp64",
       int64_t{flatbuffers::GetRoot<program::TargetDescription>(target_.data())->has_fp64()}},
  };
}

size_t SyclDevice::max_kernel_operand_bytes() const {
  static const bool all_modules = AllModulesHaveLargeBufferOption();
  return all_modules ? ~size_t{0} : max_allocation_bytes();
}

std::unique_ptr<MemoryPool> SyclDevice::MakePool(MemoryKind kind, MemoryLimit limit) {
  MemoryPool::Upstream upstream;
  upstream.allocate = [this, kind](size_t bytes) { return usm_.Allocate(kind, bytes); };
  upstream.free = [this](void* memory, size_t bytes) {
    memory_epoch_.fetch_add(1, std::memory_order_acq_rel);
    usm_.Free(memory, bytes);
  };
  return std::make_unique<MemoryPool>(
      absl::StrCat("xpu:", options_.id, kind == MemoryKind::kDevice ? "" : " (pinned host memory)"),
      MemoryPool::Limits{.total = limit.bytes,
                         .single = max_allocation_bytes(),
                         .source = std::move(limit.source),
                         .remedy = std::move(limit.remedy)},
      std::move(upstream));
}

absl::StatusOr<MemoryPool::Block*> SyclDevice::AllocateBlock(MemoryPool& pool, size_t bytes,
                                                             MemoryUser user) {
  absl::StatusOr<MemoryPool::Block*> block = pool.Allocate(bytes, user);
  if (block.ok()) return block;
  // Nothing is lost by waiting: what is committed completes by itself, and frees its blocks for any
  // user. The caller may hold the submission lock, which callbacks may want.
  for (Timeline* timeline : {&compute(), &host_to_device(), &device_to_host()}) {
    timeline->WaitForCommittedQuietly();
  }
  pool.Trim();
  block = pool.Allocate(bytes, user);
  if (block.ok()) return block;
  return pool.OutOfMemory(bytes);
}

bool SyclDevice::WaitForLauncher() {
  if (launcher_.IsThisThread()) return false;
  compute_->WaitUntilCommitted(compute_->reserved());
  return true;
}

absl::StatusOr<std::shared_ptr<DeviceMemory>> SyclDevice::AllocateFrom(MemoryKind kind,
                                                                       size_t bytes,
                                                                       const Timeline* timeline) {
  MemoryPool& pool = kind == MemoryKind::kDevice ? *device_pool_ : *pinned_pool_;
  ONEXPU_ASSIGN_OR_RETURN(MemoryPool::Block * block,
                          AllocateBlock(pool, bytes, MemoryUser{.timeline = timeline}));
  return std::make_shared<DeviceMemory>(&pool, block);
}

absl::StatusOr<std::shared_ptr<DeviceMemory>> SyclDevice::Allocate(MemoryKind kind, size_t bytes,
                                                                   const Timeline* timeline) {
  return RetryAfterLauncherDrains([&] { return AllocateFrom(kind, bytes, timeline); });
}

absl::StatusOr<std::shared_ptr<DeviceMemory>> SyclDevice::AllocateForSubmission(MemoryKind kind,
                                                                                size_t bytes) {
  return AllocateFrom(kind, bytes, compute_.get());
}

absl::StatusOr<std::shared_ptr<DeviceMemory>> SyclDevice::Scratch(size_t bytes) {
  if (scratch_ != nullptr && scratch_->size() >= bytes) return scratch_;
  scratch_.reset();  // its tickets keep it from others until the work that uses it is done
  ONEXPU_ASSIGN_OR_RETURN(scratch_, AllocateForSubmission(MemoryKind::kDevice, bytes));
  return scratch_;
}

Ticket SyclDevice::CurrentComputeTicket() const {
  return launcher_.IsThisThread() ? launcher_ticket_.load() : compute_->reserved();
}

absl::StatusOr<void*> SyclDevice::AllocateOrdered(size_t bytes) {
  // On the launcher, memory that later work frees must not be taken for the work at hand.
  const MemoryUser user{.timeline = compute_.get(), .ticket = CurrentComputeTicket()};
  ONEXPU_ASSIGN_OR_RETURN(MemoryPool::Block * block, AllocateBlock(*device_pool_, bytes, user));
  absl::MutexLock lock(&ordered_mutex_);
  ordered_[block->address] = block;
  return block->address;
}

void SyclDevice::FreeOrdered(void* memory, size_t bytes) {
  MemoryPool::Block* block;
  {
    absl::MutexLock lock(&ordered_mutex_);
    auto found = ordered_.find(memory);
    if (found == ordered_.end()) return;
    block = found->second;
    ordered_.erase(found);
  }
  TicketSet uses;
  uses.Add({compute_.get(), CurrentComputeTicket(), /*is_given_back=*/true});
  device_pool_->Free(block, uses);
}

bool SyclDevice::CopiesFrom(const Device& other) const {
  const auto id = static_cast<size_t>(other.id());
  return id < options_.copies_from.size() && options_.copies_from[id];
}

absl::StatusOr<std::shared_ptr<DeviceMemory>> SyclDevice::AllocateStagingMemory(size_t bytes) {
  if (options_.staging == nullptr) {
    return absl::FailedPreconditionError("onexpu: no staging memory: all devices copy directly");
  }
  MemoryPool& pool = options_.staging->pool();
  // Another device's queue writes to the block at once, so it must be idle.
  ONEXPU_ASSIGN_OR_RETURN(MemoryPool::Block * block, AllocateBlock(pool, bytes, MemoryUser{}));
  return std::make_shared<DeviceMemory>(&pool, block);
}

absl::StatusOr<std::shared_ptr<StagingMemory>> SyclDevice::AllocateStaging(size_t bytes) {
  ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<DeviceMemory> memory, AllocateStagingMemory(bytes));
  return std::make_shared<PooledStaging>(std::move(memory));
}

void SyclDevice::UseStaging(StagingMemory& staging) {
  static_cast<PooledStaging&>(staging).memory->AddUse({compute_.get(), CurrentComputeTicket()});
}

MemoryStatistics SyclDevice::memory_statistics() const { return device_pool_->statistics(); }

void SyclDevice::ResetMemoryPeaks() { device_pool_->ResetPeaks(); }

absl::Status SyclDevice::Synchronize() {
  if (!launcher_.IsThisThread()) launcher_.Drain();
  for (Timeline* timeline : {compute_.get(), host_to_device_.get(), device_to_host_.get()}) {
    timeline->WaitForCommitted();
  }
  return health_.status();
}

void SyclDevice::CompleteFinished() {
  for (Timeline* timeline : {compute_.get(), host_to_device_.get(), device_to_host_.get()}) {
    timeline->Poll();
  }
}

void SyclDevice::ReleaseUnused() {
  CompleteFinished();
  launch_sites_.Clear();
  device_pool_->Trim();
  pinned_pool_->Trim();
  if (options_.staging != nullptr) options_.staging->pool().Trim();
}

void SyclDevice::Stop() {
  launcher_.Stop();
  for (Timeline* timeline : {compute_.get(), host_to_device_.get(), device_to_host_.get()}) {
    if (timeline == nullptr) continue;
    timeline->WaitForCommitted();
    timeline->Stop();
  }
}

}  // namespace onexpu
