// The functions that TensorFlow's NextPluggableDevice layer calls: device count, client hand-over,
// shapes, copies.
#ifndef TF_PLUGIN_DEVICE_DEVICE_API_H_
#define TF_PLUGIN_DEVICE_DEVICE_API_H_

#include "tensorflow/core/common_runtime/next_pluggable_device/c/plugin_c_api.h"

namespace onexpu::tf_plugin {

// The tables, with static life time.
const TFNPD_Api* DeviceApi();
const TFNPD_Api* DeviceApiWithoutDevices();

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_DEVICE_DEVICE_API_H_
