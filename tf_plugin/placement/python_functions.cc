#include "tf_plugin/placement/python_functions.h"

#include <dlfcn.h>

#include "tensorflow/core/platform/logging.h"

namespace onexpu::tf_plugin {
namespace {

// In a namespace of its own, not in the user's `__main__`. Context.get_compiler_ir is what
// tf.function's experimental_get_compiler_ir calls. TFE_ToDlpackCapsule is what
// tf.experimental.dlpack.to_dlpack calls. all_local_devices and
// _make_collective_ops_with_fallbacks decide what `MirroredStrategy()` runs on.
// CollectiveAllReduceExtended is MultiWorkerMirroredStrategy's, which looks for GPUs only.
constexpr char kExtension[] = R"(exec('''
import functools

from tensorflow.python.eager import context

original = context.Context.get_compiler_ir

@functools.wraps(original)
def get_compiler_ir(self, device_name, platform_name, *arguments, **named):
    if "XPU" not in (platform_name or device_name or "").upper():
        return original(self, device_name, platform_name, *arguments, **named)
    from onexpu._frameworks import compiler_ir

    return compiler_ir.get_compiler_ir(
        original, self, device_name, platform_name, *arguments, **named
    )

context.Context.get_compiler_ir = get_compiler_ir

# TensorFlow exports memory of CPUs and GPUs only.
from tensorflow.python import pywrap_tfe
from tensorflow.python.framework import errors

to_capsule = pywrap_tfe.TFE_ToDlpackCapsule

@functools.wraps(to_capsule)
def to_dlpack_capsule(tensor):
    device = getattr(tensor, "backing_device", None) or ""
    if ":XPU:" in device:
        raise errors.InvalidArgumentError(
            None,
            None,
            "onexpu: tf.experimental.dlpack.to_dlpack failed: TensorFlow exports memory of CPUs "
            "and GPUs only (tensor on %s). Use onexpu.to_dlpack(tensor)." % device,
        )
    return to_capsule(tensor)

pywrap_tfe.TFE_ToDlpackCapsule = to_dlpack_capsule

# MirroredStrategy looks for GPUs only, and would train on the CPU. XPU has no collective ops, so
# gradients are added on one device.
from tensorflow.python.distribute import cross_device_ops, mirrored_strategy

local_devices = mirrored_strategy.all_local_devices
make_cross_device_ops = mirrored_strategy.MirroredExtended._make_collective_ops_with_fallbacks

@functools.wraps(local_devices)
def all_local_devices(num_gpus=None):
    if not context.context().list_logical_devices("GPU"):
        xpus = context.context().list_logical_devices("XPU")
        if xpus:
            return [one.name for one in xpus[:num_gpus]]
    return local_devices(num_gpus)

@functools.wraps(make_cross_device_ops)
def _make_collective_ops_with_fallbacks(self):
    made = make_cross_device_ops(self)
    if any("XPU" in one.upper() for one in self._devices):
        return cross_device_ops.ReductionToOneDevice()
    return made

mirrored_strategy.all_local_devices = all_local_devices
mirrored_strategy.MirroredExtended._make_collective_ops_with_fallbacks = (
    _make_collective_ops_with_fallbacks
)

from tensorflow.python.distribute import collective_all_reduce_strategy
from tensorflow.python.platform import tf_logging

extended = collective_all_reduce_strategy.CollectiveAllReduceExtended
make_extended = extended.__init__

@functools.wraps(make_extended)
def __init__(self, *arguments, **named):
    xpus = context.context().list_logical_devices("XPU")
    if xpus and not context.context().list_logical_devices("GPU"):
        tf_logging.warning(
            "onexpu: MultiWorkerMirroredStrategy trains on the CPU, because XPU has no collective "
            "ops. tf.distribute.MirroredStrategy() trains on the %d XPU devices of this process.",
            len(xpus),
        )
    make_extended(self, *arguments, **named)

extended.__init__ = __init__
''', {}))";

template <typename Function>
Function* Find(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

void ExtendPythonFunctions() {
  // Looked up and not linked: a program in C++ that loads the plugin has no Python.
  auto* const is_initialized = Find<int()>("Py_IsInitialized");
  auto* const ensure = Find<int()>("PyGILState_Ensure");
  auto* const release = Find<void(int)>("PyGILState_Release");
  auto* const run = Find<int(const char*)>("PyRun_SimpleString");
  if (is_initialized == nullptr || ensure == nullptr || release == nullptr || run == nullptr ||
      is_initialized() == 0) {
    return;
  }
  const int state = ensure();
  const bool failed = run(kExtension) != 0;
  release(state);
  if (failed) {
    LOG(WARNING)
        << "onexpu: experimental_get_compiler_ir, MirroredStrategy() and to_dlpack() do not know "
           "XPU in this process";
  }
}

}  // namespace onexpu::tf_plugin
