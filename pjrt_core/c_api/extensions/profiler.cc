// PJRT_Profiler_Extension: the devices' part of a framework's profile.
//
// XLA's caller (plugin_tracer.cc) leaves struct_size as it finds it on its stack, and destroys what
// could not be created: no size is looked at here, and creating does not fail.

#include "pjrt_core/runtime/profiler.h"

#include <cstring>
#include <memory>
#include <string>

#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/c_api/entry.h"
#include "pjrt_core/c_api/extensions/extensions.h"
#include "pjrt_core/c_api/extensions/xspace/xspace.h"
#include "pjrt_core/c_api/wire_format.h"
#include "pjrt_core/device/command_trace.h"
#include "xla/pjrt/c/pjrt_c_api_profiler_extension.h"

struct PLUGIN_Profiler_Error {
  absl::Status status;
};

// One session. Used by one thread at a time, as a framework's profiler does.
struct PLUGIN_Profiler {
  bool wants_devices = true;
  bool is_running = false;
  int64_t begin = 0;
  int64_t end = 0;
  std::string space;  // what has been collected
};

namespace onexpu::c_api {
namespace {

// tensorflow.ProfileOptions
constexpr uint32_t kDeviceTracerLevel = 3;
constexpr uint32_t kVersion = 5;

// Levels count from version 1 on (tsl/profiler/protobuf/profiler_options.proto).
bool WantsDevices(absl::string_view options) {
  bool has_version = false;
  bool wanted = false;
  for (FieldReader reader(options, "tensorflow.ProfileOptions"); !reader.done();) {
    const absl::StatusOr<Field> field = reader.Next();
    if (!field.ok()) return true;
    if (field->number == kVersion) has_version = field->value > 0;
    if (field->number == kDeviceTracerLevel) wanted = field->value > 0;
  }
  return wanted || !has_version;
}

absl::Status Create(PLUGIN_Profiler_Create_Args& args) {
  args.profiler = new PLUGIN_Profiler;
  if (args.options != nullptr) {
    args.profiler->wants_devices = WantsDevices({args.options, args.options_size});
  }
  return absl::OkStatus();
}

absl::Status Stop(PLUGIN_Profiler& profiler) {
  if (!profiler.is_running) return absl::OkStatus();
  profiler.is_running = false;
  profiler.end = CommandTrace::Now();
  return Profiler::Get().Stop();
}

absl::Status Start(PLUGIN_Profiler_Start_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.profiler, "profiler"));
  PLUGIN_Profiler& profiler = *args.profiler;
  // Once, as a session of XLA's is.
  if (!profiler.wants_devices || profiler.begin != 0) return absl::OkStatus();
  profiler.is_running = true;
  profiler.begin = CommandTrace::Now();
  return Profiler::Get().Start();
}

absl::Status Stop(PLUGIN_Profiler_Stop_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.profiler, "profiler"));
  return Stop(*args.profiler);
}

absl::Status Destroy(PLUGIN_Profiler_Destroy_Args& args) {
  const std::unique_ptr<PLUGIN_Profiler> profiler(args.profiler);
  if (profiler == nullptr || profiler->begin == 0) return absl::OkStatus();
  absl::Status status = Stop(*profiler);
  Profiler::Get().Leave();
  return status;
}

absl::Status CollectData(PLUGIN_Profiler_CollectData_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.profiler, "profiler"));
  PLUGIN_Profiler& profiler = *args.profiler;
  auto* const space = reinterpret_cast<uint8_t*>(profiler.space.data());
  // The header has callers ask for the size and come again with a buffer; XLA's own caller
  // (plugin_tracer.cc) asks once, and reads from where the buffer then is.
  if (args.buffer == nullptr) {
    if (profiler.begin != 0 && profiler.space.empty()) {
      profiler.space = SerializeXSpace(Profiler::Get().Collect(profiler.begin, profiler.end));
    }
    args.buffer = reinterpret_cast<uint8_t*>(profiler.space.data());
    args.buffer_size_in_bytes = profiler.space.size();
  } else if (args.buffer != space) {
    std::memcpy(args.buffer, space, profiler.space.size());
  }
  return absl::OkStatus();
}

template <typename Args, absl::Status (*kFunction)(Args&)>
PLUGIN_Profiler_Error* Call(Args* args) {
  absl::Status status = kFunction(*args);
  return status.ok() ? nullptr : new PLUGIN_Profiler_Error{std::move(status)};
}

void DestroyError(PLUGIN_Profiler_Error_Destroy_Args* args) { delete args->error; }

void ErrorMessage(PLUGIN_Profiler_Error_Message_Args* args) {
  args->message = args->error->status.message().data();
  args->message_size = args->error->status.message().size();
}

PLUGIN_Profiler_Error* ErrorCode(PLUGIN_Profiler_Error_GetCode_Args* args) {
  args->code = static_cast<int>(args->error->status.code());
  return nullptr;
}

PLUGIN_Profiler_Api kApi = {
    .struct_size = PLUGIN_Profiler_Api_STRUCT_SIZE,
    .priv = nullptr,
    .error_destroy = DestroyError,
    .error_message = ErrorMessage,
    .error_get_code = ErrorCode,
    .create = Call<PLUGIN_Profiler_Create_Args, Create>,
    .destroy = Call<PLUGIN_Profiler_Destroy_Args, Destroy>,
    .start = Call<PLUGIN_Profiler_Start_Args, Start>,
    .stop = Call<PLUGIN_Profiler_Stop_Args, Stop>,
    .collect_data = Call<PLUGIN_Profiler_CollectData_Args, CollectData>,
};

}  // namespace

PJRT_Extension_Base* ProfilerExtension(PJRT_Extension_Base* next) {
  static PJRT_Profiler_Extension extension = {
      .base = {.struct_size = PJRT_Profiler_Extension_STRUCT_SIZE,
               .type = PJRT_Extension_Type_Profiler,
               .next = next},
      .profiler_api = &kApi,
      .traceme_context_id = 0,
  };
  return &extension.base;
}

}  // namespace onexpu::c_api
