#include "tf_plugin/xla_backend/xla_backend.h"

#include "tensorflow/compiler/jit/flags.h"
#include "tensorflow/compiler/tf2xla/tf2xla_util.h"
#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow/core/framework/device_base.h"
#include "tensorflow/core/framework/types.h"
#include "tf_plugin/core/core_api.h"
#include "tf_plugin/xla_backend/checked_translations.h"
#include "tf_plugin/xla_backend/compilation_device.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::XlaOpRegistry;

constexpr DataType kTypes[] = {
    tensorflow::DT_BOOL,
    tensorflow::DT_INT8,
    tensorflow::DT_INT16,
    tensorflow::DT_INT32,
    tensorflow::DT_INT64,
    tensorflow::DT_UINT8,
    tensorflow::DT_UINT16,
    tensorflow::DT_UINT32,
    tensorflow::DT_UINT64,
    tensorflow::DT_HALF,
    tensorflow::DT_BFLOAT16,
    tensorflow::DT_FLOAT,
    tensorflow::DT_DOUBLE,
    tensorflow::DT_COMPLEX64,
    tensorflow::DT_COMPLEX128,
    tensorflow::DT_QINT8,
    tensorflow::DT_QUINT8,
    tensorflow::DT_QINT16,
    tensorflow::DT_QUINT16,
    tensorflow::DT_QINT32,
    tensorflow::DT_FLOAT8_E5M2,
    tensorflow::DT_FLOAT8_E4M3FN,
    tensorflow::DT_FLOAT8_E4M3FNUZ,
    tensorflow::DT_FLOAT8_E4M3B11FNUZ,
    tensorflow::DT_FLOAT8_E5M2FNUZ,
    tensorflow::DT_INT4,
    tensorflow::DT_UINT4,
    // References to variables, and tensor lists, within a cluster.
    tensorflow::DT_RESOURCE,
    tensorflow::DT_VARIANT,
};

// Admits strings in Const and Assert, as TensorFlow's own backends do: the text of an assertion.
// XLA drops both ops from the program.
bool FilterTranslation(tensorflow::KernelDef* translation) {
  if (translation->op() == "Const") {
    tensorflow::AddDtypeToKernelDefConstraint("dtype", tensorflow::DT_STRING, translation);
  } else if (translation->op() == "Assert") {
    tensorflow::AddDtypeToKernelDefConstraint("T", tensorflow::DT_STRING, translation);
  }
  return SetAside(translation);
}

XlaOpRegistry::DeviceRegistration Clustering() {
  XlaOpRegistry::DeviceRegistration registration;
  registration.compilation_device_name = kCompilationDevice;
  // Only when the user asks: set_jit("autoclustering") or TF_XLA_FLAGS.
  registration.autoclustering_policy = XlaOpRegistry::AutoclusteringPolicy::kIfEnabledGlobally;
  registration.cluster_tensor_array_ops = true;
  registration.cluster_slow_ops = true;
  registration.cluster_inaccurate_ops = true;
  // What stays outside of automatic clusters, because clustering would change what a program does:
  // reordered reads and writes of variables, random numbers that ignore the op's seed, checks that
  // are left out, dead control edges.
  registration.cluster_resource_variable_ops_unsafely = false;
  registration.cluster_stateful_rng_ops = false;
  registration.elide_assert_and_checknumerics = false;
  registration.cluster_control_trigger = false;
  // A stack or a list that leaves its cluster would have no form outside.
  registration.cluster_stack_ops = false;
  registration.cluster_variant_ops = false;
  return registration;
}

}  // namespace

void RegisterXlaBackend() {
  // Without this, TensorFlow's kernels for any device (DEVICE_DEFAULT) count as XLA's: clusters
  // would hold control flow and other ops that cannot be translated.
  tensorflow::AddSymbolicExecutionDevice(kCompilationDevice);
  XlaOpRegistry::RegisterBackend(kCompilationDevice, kTypes, FilterTranslation);
  XlaOpRegistry::RegisterCompilationDevice(kDeviceType, Clustering());

  // Without these TensorFlow looks for a StreamExecutor platform of the device's name, and there is
  // none.
  auto& through_pjrt = tensorflow::GetXlaOpsCommonFlags()->tf_xla_use_device_api;
  const tensorflow::DeviceType device(kDeviceType);
  through_pjrt.enabled_for_xla_launch_ = true;
  through_pjrt.AllowForDeviceInXlaLaunch(device);
  through_pjrt.enabled_for_compile_on_demand_ = true;
  through_pjrt.AllowForDeviceInXlaCompileOnDemand(device);
  through_pjrt.enabled_for_compile_and_run_ = true;
  through_pjrt.AllowForDeviceInXlaCompileAndRun(device);
}

}  // namespace onexpu::tf_plugin
