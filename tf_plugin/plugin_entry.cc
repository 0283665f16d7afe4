// What TensorFlow calls when it loads this library from tensorflow-plugins/: first
// TFNPD_InitPlugin, then GetPjrtApi, then TF_InitKernel, all on the thread that imports TensorFlow.
//
// An error out of any of them ends the process, because TensorFlow checks for OK. So what cannot
// work (a second copy of this library, no device) is said in the log and leaves TensorFlow as it
// was.
#include <string>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/common_runtime/next_pluggable_device/c/plugin_c_api.h"
#include "tensorflow/core/platform/logging.h"
#include "tf_plugin/core/core_api.h"
#include "tf_plugin/core/xla_flags.h"
#include "tf_plugin/custom_kernel/onexpu_ops.h"
#include "tf_plugin/device/device_api.h"
#include "tf_plugin/device/device_profiler.h"
#include "tf_plugin/device/persistent_devices.h"
#include "tf_plugin/loops/loop_compilation_kernel.h"
#include "tf_plugin/loops/loop_passes.h"
#include "tf_plugin/loops/loop_runs.h"
#include "tf_plugin/memo/instrumented_api.h"
#include "tf_plugin/placement/eager_placement.h"
#include "tf_plugin/placement/parallel_concat.h"
#include "tf_plugin/placement/placement_pass.h"
#include "tf_plugin/placement/python_functions.h"
#include "tf_plugin/registration/graph_optimizers.h"
#include "tf_plugin/registration/kernel_registration.h"
#include "tf_plugin/registration/loop_conditions.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/xla_backend/compilation_device.h"
#include "tf_plugin/xla_backend/xla_backend.h"

#define ONEXPU_EXPORT __attribute__((visibility("default")))

namespace onexpu::tf_plugin {
namespace {

// Above the CPU's 60 and the GPU's 210: XPU is where ops go by default.
constexpr int kDevicePriority = 220;

bool kernels_wanted = false;

const TFNPD_Api* InitFirstCopy(TFNPD_PluginParams* params) {
  ParseXlaFlagsKnownToTensorFlow();
  RegisterXlaBackend();
  RegisterTranslations();
  RegisterPlacementPass();
  RegisterEagerPlacement();
  RegisterLoopConditionPass();
  RegisterLoopPasses();
  RegisterLoopRunPass();
  ConfigureGraphOptimizers();
  RegisterParallelConcatPass();
  RegisterDeviceProfiler();
  params->device_type = kDeviceType;
  params->compilation_device_name = kCompilationDevice;
  params->priority = kDevicePriority;
  params->is_pluggable_device = true;
  // TensorFlow's own registration has no room for a skip list: see on_demand_kernels.h.
  params->use_pjrt_on_demand_compile = false;
  kernels_wanted = true;
  return DeviceApi();
}

// A device type of its own, of which there are no devices.
const TFNPD_Api* InitFurtherCopy(TFNPD_PluginParams* params) {
  static int copies = 0;
  auto* const name =
      new std::string(absl::StrCat("XPU_UNUSED_", absl::Hex(&kernels_wanted), "_", copies++));
  params->device_type = name->c_str();
  params->compilation_device_name = kCompilationDevice;
  params->priority = 0;
  params->is_pluggable_device = true;
  params->use_pjrt_on_demand_compile = false;
  kernels_wanted = false;
  return DeviceApiWithoutDevices();
}

}  // namespace
}  // namespace onexpu::tf_plugin

extern "C" ONEXPU_EXPORT const TFNPD_Api* TFNPD_InitPlugin(TFNPD_PluginParams* params,
                                                           TF_Status* status) {
  using namespace onexpu::tf_plugin;  // NOLINT(build/namespaces)
  TF_SetStatus(status, TF_OK, "");
  if (const absl::Status registered = RegisterOps(); !registered.ok()) {
    LOG(WARNING) << registered.message();
    return InitFurtherCopy(params);
  }
  return InitFirstCopy(params);
}

extern "C" ONEXPU_EXPORT const PJRT_Api* GetPjrtApi() {
  return onexpu::tf_plugin::InstrumentedApi();
}

extern "C" ONEXPU_EXPORT void TF_InitKernel() {
  if (!onexpu::tf_plugin::kernels_wanted) return;
  onexpu::tf_plugin::RegisterPersistentDevices(onexpu::tf_plugin::kDevicePriority + 1);
  onexpu::tf_plugin::RegisterKernels();
  onexpu::tf_plugin::RegisterLoopCompilationKernel();
  onexpu::tf_plugin::RegisterLoopRunKernel();
  onexpu::tf_plugin::ExtendPythonFunctions();
}
