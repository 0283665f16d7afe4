// What TensorFlow calls when it loads this library from tensorflow-plugins/: first
// TFNPD_InitPlugin, then GetPjrtApi (found in pjrt_plugin_xpu.so, which this library links), then
// TF_InitKernel. Each is called once, by the thread that imports TensorFlow.
#include "tensorflow/c/tf_status_helper.h"
#include "tensorflow/core/common_runtime/next_pluggable_device/c/plugin_c_api.h"
#include "tf_plugin/core_api.h"
#include "tf_plugin/device_api.h"
#include "tf_plugin/kernel_registration.h"
#include "tf_plugin/onexpu_kernel_xla.h"
#include "tf_plugin/onexpu_ops.h"
#include "tf_plugin/placement_pass.h"
#include "tf_plugin/xla_backend.h"
#include "tf_plugin/xla_flags.h"

#define ONEXPU_EXPORT __attribute__((visibility("default")))

namespace {

// Above the CPU's 60 and the GPU's 210: XPU is where ops go by default.
constexpr int kDevicePriority = 220;

}  // namespace

extern "C" ONEXPU_EXPORT const TFNPD_Api* TFNPD_InitPlugin(TFNPD_PluginParams* params,
                                                           TF_Status* status) {
  using namespace onexpu::tf_plugin;  // NOLINT(build/namespaces)
  if (const absl::Status registered = RegisterOps(); !registered.ok()) {
    tsl::Set_TF_Status_from_Status(status, registered);
    return nullptr;
  }
  ParseXlaFlagsKnownToTensorFlow();
  RegisterXlaBackend();
  RegisterOnexpuKernelTranslation();
  RegisterPlacementPass();

  params->device_type = kDeviceType;
  params->compilation_device_name = kCompilationDevice;
  params->priority = kDevicePriority;
  params->is_pluggable_device = true;
  // TensorFlow's own registration has no room for a skip list: see on_demand_kernels.h.
  params->use_pjrt_on_demand_compile = false;
  TF_SetStatus(status, TF_OK, "");
  return DeviceApi();
}

extern "C" ONEXPU_EXPORT void TF_InitKernel() { onexpu::tf_plugin::RegisterKernels(); }
