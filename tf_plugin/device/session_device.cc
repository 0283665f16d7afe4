#include "tf_plugin/device/session_device.h"

#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/util/device_name_utils.h"
#include "tf_plugin/core/core_api.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::Allocator;
using ::tensorflow::AllocatorAttributes;
using ::tensorflow::AsyncOpKernel;
using ::tensorflow::Device;
using ::tensorflow::DeviceAttributes;
using ::tensorflow::DeviceBase;
using ::tensorflow::DeviceContext;
using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;

// TensorFlow's allocator of handles, with the state of the memory behind them.
class HandleAllocator final : public Allocator {
 public:
  HandleAllocator(Allocator* handles, int ordinal) : handles_(handles), ordinal_(ordinal) {}

  std::string Name() override { return handles_->Name(); }
  void* AllocateRaw(size_t alignment, size_t num_bytes) override {
    return handles_->AllocateRaw(alignment, num_bytes);
  }
  void DeallocateRaw(void* handle) override { handles_->DeallocateRaw(handle); }
  bool AllocatesOpaqueHandle() const override { return handles_->AllocatesOpaqueHandle(); }
  tensorflow::AllocatorMemoryType GetMemoryType() const override {
    return handles_->GetMemoryType();
  }

  std::optional<tensorflow::AllocatorStats> GetStats() override {
    const absl::StatusOr<PJRT_Device*> device = AddressableDevice(ordinal_);
    if (!device.ok()) return std::nullopt;
    PJRT_Device_MemoryStats_Args args{};
    args.struct_size = PJRT_Device_MemoryStats_Args_STRUCT_SIZE;
    args.device = *device;
    if (!ToStatus(CoreApi().PJRT_Device_MemoryStats(&args)).ok()) return std::nullopt;
    tensorflow::AllocatorStats stats;
    stats.num_allocs = args.num_allocs;
    stats.bytes_in_use = args.bytes_in_use;
    stats.peak_bytes_in_use = args.peak_bytes_in_use;
    stats.largest_alloc_size = args.largest_alloc_size;
    stats.bytes_limit = args.bytes_limit;
    stats.largest_free_block_bytes = args.largest_free_block_bytes;
    stats.pool_bytes = args.pool_bytes;
    return stats;
  }

  bool ClearStats() override {
    const absl::StatusOr<const OnexpuLaunchExtension*> extension = LaunchExtension();
    const absl::StatusOr<PJRT_Device*> device = AddressableDevice(ordinal_);
    return extension.ok() && device.ok() &&
           ToStatus((*extension)->reset_memory_peaks(*device)).ok();
  }

 private:
  Allocator* const handles_;
  const int ordinal_;
};

// One for each number, as long as the process: tensors give their handles back to it.
Allocator* PersistentAllocator(Device* persistent, int ordinal) {
  static auto* const mutex = new absl::Mutex;
  static auto* const allocators = new absl::flat_hash_map<int, std::unique_ptr<Allocator>>;
  absl::MutexLock lock(mutex);
  std::unique_ptr<Allocator>& allocator = (*allocators)[ordinal];
  if (allocator == nullptr) {
    allocator =
        std::make_unique<HandleAllocator>(persistent->GetAllocator(AllocatorAttributes()), ordinal);
  }
  return allocator.get();
}

class SessionDevice final : public Device {
 public:
  SessionDevice(DeviceAttributes attributes, Device* persistent)
      : Device(persistent->env(), std::move(attributes)),
        persistent_(persistent),
        allocator_(PersistentAllocator(persistent, parsed_name().id)) {}

  // ---- What is this device's own ----

  absl::Status Sync() override {
    TF_ASSIGN_OR_RETURN(const OnexpuLaunchExtension* extension, LaunchExtension());
    TF_ASSIGN_OR_RETURN(PJRT_Device * device, AddressableDevice(parsed_name().id));
    return ToStatus(extension->synchronize(device));
  }

  Allocator* GetAllocator(AllocatorAttributes attributes) override {
    return attributes.on_host() ? persistent_->GetAllocator(attributes) : allocator_;
  }

  // ---- What the persistent device does ----

  DeviceBase* UnderlyingDevice() override { return persistent_->UnderlyingDevice(); }
  const DeviceBase* UnderlyingDevice() const override { return persistent_->UnderlyingDevice(); }

  const CpuWorkerThreads* tensorflow_cpu_worker_threads() const override {
    return persistent_->tensorflow_cpu_worker_threads();
  }
  const AcceleratorDeviceInfo* tensorflow_accelerator_device_info() const override {
    return persistent_->tensorflow_accelerator_device_info();
  }
  tsl::thread::ThreadPool* tensorflow_device_thread_pool() override {
    return persistent_->tensorflow_device_thread_pool();
  }
  bool has_eigen_cpu_device() const override { return persistent_->has_eigen_cpu_device(); }
  const Eigen::ThreadPoolDevice* eigen_cpu_device() override {
    return persistent_->eigen_cpu_device();
  }

  absl::Status MakeTensorFromProto(const tensorflow::TensorProto& proto,
                                   AllocatorAttributes attributes, Tensor* tensor) override {
    return persistent_->MakeTensorFromProto(proto, attributes, tensor);
  }
  void CopyTensorInSameDevice(const Tensor* from, Tensor* to, const DeviceContext* context,
                              tensorflow::StatusCallback done) override {
    persistent_->CopyTensorInSameDevice(from, to, context, std::move(done));
  }
  absl::Status TryGetDeviceContext(DeviceContext** context) override {
    return persistent_->TryGetDeviceContext(context);
  }

  void Compute(OpKernel* kernel, OpKernelContext* context) override {
    persistent_->Compute(kernel, context);
  }
  void ComputeAsync(AsyncOpKernel* kernel, OpKernelContext* context,
                    AsyncOpKernel::DoneCallback done) override {
    persistent_->ComputeAsync(kernel, context, std::move(done));
  }

 private:
  Device* const persistent_;
  Allocator* const allocator_;
};

}  // namespace

std::unique_ptr<Device> MakeSessionDevice(const std::string& name_prefix, Device* persistent) {
  const tensorflow::DeviceNameUtils::ParsedName& persistent_name = persistent->parsed_name();
  const DeviceAttributes& attributes = persistent->attributes();
  return std::make_unique<SessionDevice>(
      Device::BuildDeviceAttributes(
          absl::StrCat(name_prefix, "/device:", persistent_name.type, ":", persistent_name.id),
          tensorflow::DeviceType(attributes.device_type()),
          tensorflow::Bytes(attributes.memory_limit()), attributes.locality(),
          attributes.physical_device_desc()),
      persistent);
}

}  // namespace onexpu::tf_plugin
