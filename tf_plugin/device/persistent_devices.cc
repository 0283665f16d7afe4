#include "tf_plugin/device/persistent_devices.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "tensorflow/core/common_runtime/next_pluggable_device/next_pluggable_device_factory.h"
#include "tensorflow/core/framework/device.h"
#include "tensorflow/core/framework/device_factory.h"
#include "tensorflow/core/public/session_options.h"
#include "tf_plugin/core/core_api.h"
#include "tf_plugin/device/session_device.h"
#include "tf_plugin/device/visible_devices.h"
#include "tf_plugin/xla_backend/compilation_device.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::Device;
using ::tensorflow::NextPluggableDeviceFactory;

// TensorFlow takes the factory of a device that compiles for a NextPluggableDeviceFactory.
class PersistentDeviceFactory final : public NextPluggableDeviceFactory {
 public:
  PersistentDeviceFactory() : NextPluggableDeviceFactory(kDeviceType, kCompilationDevice) {}

  absl::Status CreateDevices(const tensorflow::SessionOptions& options,
                             const std::string& name_prefix,
                             std::vector<std::unique_ptr<Device>>* devices) override {
    std::vector<std::string> physical;
    TF_RETURN_IF_ERROR(ListPhysicalDevices(&physical));
    TF_ASSIGN_OR_RETURN(const absl::btree_set<int> visible,
                        VisibleDevices(options.config, static_cast<int>(physical.size())));
    if (visible.empty()) return absl::OkStatus();
    // TensorFlow would number the visible devices anew, but its transfers and programs find their
    // device by the ordinal in the name.
    tensorflow::SessionOptions without_selection = options;
    without_selection.config.mutable_pluggable_device_options()->clear_visible_device_list();
    without_selection.config.mutable_device_count()->erase(kDeviceType);
    std::vector<std::unique_ptr<Device>> all;
    const absl::Status status =
        NextPluggableDeviceFactory::CreateDevices(without_selection, name_prefix, &all);
    for (std::unique_ptr<Device>& device : all) {
      Device* const persistent = Persistent(std::move(device));
      if (!visible.contains(persistent->parsed_name().id)) continue;
      devices->push_back(MakeSessionDevice(name_prefix, persistent));
    }
    return status;
  }

 private:
  // The first device with this ordinal.
  Device* Persistent(std::unique_ptr<Device> device) {
    absl::MutexLock lock(&mutex_);
    std::unique_ptr<Device>& persistent = devices_[device->parsed_name().id];
    if (persistent == nullptr) persistent = std::move(device);
    return persistent.get();
  }

  absl::Mutex mutex_;
  absl::flat_hash_map<int, std::unique_ptr<Device>> devices_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

void RegisterPersistentDevices(int priority) {
  tensorflow::DeviceFactory::Register(kDeviceType, std::make_unique<PersistentDeviceFactory>(),
                                      priority, /*is_pluggable_device=*/true);
}

}  // namespace onexpu::tf_plugin
