#include "tf_plugin/device/device_client.h"

#include <memory>
#include <utility>
#include <variant>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/platform/logging.h"
#include "tensorflow/core/tfrt/common/pjrt_util.h"
#include "tf_plugin/core/core_api.h"
#include "xla/pjrt/c_api_client/pjrt_c_api_client.h"

namespace onexpu::tf_plugin {
namespace {

class DeviceClient {
 public:
  static DeviceClient& Get() {
    static DeviceClient* const instance = new DeviceClient;
    return *instance;
  }

  int device_count() {
    absl::MutexLock lock(&mutex_);
    Create();
    return device_count_;
  }

  bool has_fp64() {
    absl::MutexLock lock(&mutex_);
    Create();
    return has_fp64_;
  }

  absl::Status HandOver() {
    absl::MutexLock lock(&mutex_);
    Create();
    if (client_ == nullptr) return absl::OkStatus();
    return tensorflow::SetPjRtClientInTFGlobalResourceManager(tensorflow::DeviceType(kDeviceType),
                                                              std::move(client_));
  }

 private:
  void Create() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (created_) return;
    created_ = true;
    absl::StatusOr<std::unique_ptr<xla::PjRtClient>> client = xla::GetCApiClient(kDeviceType);
    if (!client.ok()) {
      // What was searched and what to install is in the core's message.
      LOG(WARNING) << "onexpu: TensorFlow goes on without XPU devices: "
                   << client.status().message();
      return;
    }
    client_ = std::move(*client);
    device_count_ = client_->addressable_device_count();
    // A client's devices are of one kind.
    for (const xla::PjRtDevice* device : client_->addressable_devices()) {
      const auto attribute = device->Attributes().find("has_fp64");
      has_fp64_ =
          attribute == device->Attributes().end() || std::get<int64_t>(attribute->second) != 0;
    }
  }

  absl::Mutex mutex_;
  bool created_ ABSL_GUARDED_BY(mutex_) = false;
  int device_count_ ABSL_GUARDED_BY(mutex_) = 0;
  bool has_fp64_ ABSL_GUARDED_BY(mutex_) = true;
  std::unique_ptr<xla::PjRtClient> client_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

int DeviceCount() { return DeviceClient::Get().device_count(); }

bool DevicesHaveFp64() { return DeviceClient::Get().has_fp64(); }

absl::Status HandClientToTensorFlow() { return DeviceClient::Get().HandOver(); }

}  // namespace onexpu::tf_plugin
