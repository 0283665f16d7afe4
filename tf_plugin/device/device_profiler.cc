#include "tf_plugin/device/device_profiler.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tf_plugin/core/core_api.h"
#include "tsl/profiler/lib/profiler_factory.h"
#include "tsl/profiler/lib/profiler_interface.h"
#include "tsl/profiler/protobuf/profiler_options.pb.h"
#include "tsl/profiler/protobuf/xplane.pb.h"
#include "xla/pjrt/c/pjrt_c_api_profiler_extension.h"
#include "xla/tsl/platform/errors.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::profiler::XSpace;

const PLUGIN_Profiler_Api* ProfilerApi() {
  for (const PJRT_Extension_Base* link = CoreApi().extension_start; link != nullptr;
       link = link->next) {
    if (link->type == PJRT_Extension_Type_Profiler) {
      return reinterpret_cast<const PJRT_Profiler_Extension*>(link)->profiler_api;
    }
  }
  return nullptr;
}

// Takes `error`.
absl::Status ToStatus(const PLUGIN_Profiler_Api& api, PLUGIN_Profiler_Error* error) {
  if (error == nullptr) return absl::OkStatus();
  PLUGIN_Profiler_Error_GetCode_Args code{};
  code.struct_size = PLUGIN_Profiler_Error_GetCode_Args_STRUCT_SIZE;
  code.error = error;
  api.error_get_code(&code);
  PLUGIN_Profiler_Error_Message_Args message{};
  message.struct_size = PLUGIN_Profiler_Error_Message_Args_STRUCT_SIZE;
  message.error = error;
  api.error_message(&message);
  const absl::Status status(static_cast<absl::StatusCode>(code.code),
                            absl::string_view(message.message, message.message_size));
  PLUGIN_Profiler_Error_Destroy_Args destroy{};
  destroy.struct_size = PLUGIN_Profiler_Error_Destroy_Args_STRUCT_SIZE;
  destroy.error = error;
  api.error_destroy(&destroy);
  return status;
}

class DeviceProfiler final : public tsl::profiler::ProfilerInterface {
 public:
  // Takes `profiler`.
  DeviceProfiler(const PLUGIN_Profiler_Api& api, PLUGIN_Profiler* profiler)
      : api_(api), profiler_(profiler) {}

  ~DeviceProfiler() override {
    PLUGIN_Profiler_Destroy_Args args{};
    args.struct_size = PLUGIN_Profiler_Destroy_Args_STRUCT_SIZE;
    args.profiler = profiler_;
    ToStatus(api_, api_.destroy(&args)).IgnoreError();
  }

  absl::Status Start() override {
    PLUGIN_Profiler_Start_Args args{};
    args.struct_size = PLUGIN_Profiler_Start_Args_STRUCT_SIZE;
    args.profiler = profiler_;
    return ToStatus(api_, api_.start(&args));
  }

  absl::Status Stop() override {
    PLUGIN_Profiler_Stop_Args args{};
    args.struct_size = PLUGIN_Profiler_Stop_Args_STRUCT_SIZE;
    args.profiler = profiler_;
    return ToStatus(api_, api_.stop(&args));
  }

  absl::Status CollectData(XSpace* space) override {
    PLUGIN_Profiler_CollectData_Args args{};
    args.struct_size = PLUGIN_Profiler_CollectData_Args_STRUCT_SIZE;
    args.profiler = profiler_;
    TF_RETURN_IF_ERROR(ToStatus(api_, api_.collect_data(&args)));
    XSpace collected;
    if (!collected.ParseFromArray(args.buffer, static_cast<int>(args.buffer_size_in_bytes))) {
      return absl::InternalError("onexpu: the core's profile is no XSpace");
    }
    space->MergeFrom(collected);
    return absl::OkStatus();
  }

 private:
  const PLUGIN_Profiler_Api& api_;
  PLUGIN_Profiler* const profiler_;
};

std::unique_ptr<tsl::profiler::ProfilerInterface> MakeDeviceProfiler(
    const PLUGIN_Profiler_Api& api, const tensorflow::ProfileOptions& options) {
  const std::string serialized = options.SerializeAsString();
  PLUGIN_Profiler_Create_Args args{};
  args.struct_size = PLUGIN_Profiler_Create_Args_STRUCT_SIZE;
  args.options = serialized.data();
  args.options_size = serialized.size();
  if (!ToStatus(api, api.create(&args)).ok()) return nullptr;
  return std::make_unique<DeviceProfiler>(api, args.profiler);
}

}  // namespace

void RegisterDeviceProfiler() {
  const PLUGIN_Profiler_Api* const api = ProfilerApi();
  if (api == nullptr) return;
  tsl::profiler::RegisterProfilerFactory([api](const tensorflow::ProfileOptions& options) {
    return MakeDeviceProfiler(*api, options);
  });
}

}  // namespace onexpu::tf_plugin
