// An XPU device as one session or eager context has it: a name and resources of its own over a
// device that lasts. It waits where TensorFlow asks it to, and knows the memory in use.
#ifndef TF_PLUGIN_DEVICE_SESSION_DEVICE_H_
#define TF_PLUGIN_DEVICE_SESSION_DEVICE_H_

#include <memory>
#include <string>

#include "tensorflow/core/framework/device.h"

namespace onexpu::tf_plugin {

// `persistent` outlives the result. Its name begins with `name_prefix` ("/job:…/task:0").
std::unique_ptr<tensorflow::Device> MakeSessionDevice(const std::string& name_prefix,
                                                      tensorflow::Device* persistent);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_DEVICE_SESSION_DEVICE_H_
