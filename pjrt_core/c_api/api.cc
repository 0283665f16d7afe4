// GetPjrtApi: the table of the PJRT C API, the one symbol that this library exports.

#include "absl/synchronization/mutex.h"
#include "pjrt_core/c_api/buffer/buffer.h"
#include "pjrt_core/c_api/buffer/client_buffers.h"
#include "pjrt_core/c_api/client.h"
#include "pjrt_core/c_api/device/device.h"
#include "pjrt_core/c_api/device/device_description.h"
#include "pjrt_core/c_api/device/memory.h"
#include "pjrt_core/c_api/error_functions.h"
#include "pjrt_core/c_api/event.h"
#include "pjrt_core/c_api/executable/executable.h"
#include "pjrt_core/c_api/executable/execute_context.h"
#include "pjrt_core/c_api/executable/loaded_executable.h"
#include "pjrt_core/c_api/extensions/extensions.h"
#include "pjrt_core/c_api/plugin.h"
#include "pjrt_core/c_api/topology/topology.h"
#include "pjrt_core/c_api/unsupported.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace onexpu::c_api {
namespace {

PJRT_Api MakeApi() {
  // Debian builds Abseil with its search for deadlocks, in which every lock takes a stack trace and
  // enters a graph that is locked for the whole process. The core's GoogleTests keep it.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  PJRT_Api api{};
  api.struct_size = PJRT_Api_STRUCT_SIZE;
  api.pjrt_api_version.struct_size = PJRT_Api_Version_STRUCT_SIZE;
  api.pjrt_api_version.major_version = PJRT_API_MAJOR;
  api.pjrt_api_version.minor_version = PJRT_API_MINOR;
  BindUnsupported(&api);
  BindPlugin(&api);
  BindErrorFunctions(&api);
  PJRT_Event::BindApi(&api);
  PJRT_Client::BindApi(&api);
  BindClientBuffers(&api);
  PJRT_DeviceDescription::BindApi(&api);
  PJRT_Device::BindApi(&api);
  PJRT_Memory::BindApi(&api);
  PJRT_Buffer::BindApi(&api);
  PJRT_Executable::BindApi(&api);
  PJRT_LoadedExecutable::BindApi(&api);
  PJRT_ExecuteContext::BindApi(&api);
  PJRT_TopologyDescription::BindApi(&api);
  api.extension_start = ExtensionChain();
  return api;
}

}  // namespace
}  // namespace onexpu::c_api

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  static const PJRT_Api api = onexpu::c_api::MakeApi();
  return &api;
}
