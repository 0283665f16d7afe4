// The core as the Python module sees it: the PJRT C API table, the launch extension, errors as
// exceptions.
//
// The table lives in pjrt_plugin_xpu.so, which this module links; JAX and TensorFlow use the same
// one. Any thread.
#ifndef ONEXPU_NATIVE_CORE_H_
#define ONEXPU_NATIVE_CORE_H_

#include <vector>

#include "pjrt_core/c_api/extensions/launch.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace onexpu::native {

// Initialises the plugin at the first call. Throws when the core refuses.
const PJRT_Api& Core();

const OnexpuLaunchExtension& LaunchExtension();

// Null when the core does not offer it.
const PJRT_Extension_Base* FindExtension(const PJRT_Api& api, int type);

// This module's own handle of the process's client, made at the first call and kept: to be asked
// about devices and memory.
PJRT_Client* CoreClient();

// Of that client, by number. DeviceAt throws IndexError.
std::vector<PJRT_Device*> Devices();
PJRT_Device* DeviceAt(int index);

// Takes the error over; null is success. INVALID_ARGUMENT becomes ValueError, UNIMPLEMENTED
// NotImplementedError, RESOURCE_EXHAUSTED MemoryError, NOT_FOUND LookupError, the rest
// RuntimeError. Needs the interpreter's lock.
void ThrowIfError(PJRT_Error* error);

}  // namespace onexpu::native

#endif  // ONEXPU_NATIVE_CORE_H_
