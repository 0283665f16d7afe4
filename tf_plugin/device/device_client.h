// TensorFlow's handle on the core: a PJRT client over the C API, made at the first question for
// devices.
//
// The client belongs to this file until TensorFlow creates its devices, then to TensorFlow's global
// resources, for the rest of the process. Thread-safe.
#ifndef TF_PLUGIN_DEVICE_DEVICE_CLIENT_H_
#define TF_PLUGIN_DEVICE_DEVICE_CLIENT_H_

#include "absl/status/status.h"

namespace onexpu::tf_plugin {

// How many devices the core found. 0 when it found none or cannot start: TensorFlow then goes on
// with its other devices, and one line in the log says why.
int DeviceCount();

// Whether they compute with 64-bit floats, emulated ones included; true without devices.
bool DevicesHaveFp64();

// Makes the client the one that TensorFlow uses for XPU. Later calls do nothing.
absl::Status HandClientToTensorFlow();

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_DEVICE_DEVICE_CLIENT_H_
