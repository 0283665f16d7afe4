// The ops that this library adds to TensorFlow: definitions and shape functions.
//
// onexpu's Python functions for them are generated from TensorFlow's op registry.
#ifndef TF_PLUGIN_CUSTOM_KERNEL_ONEXPU_OPS_H_
#define TF_PLUGIN_CUSTOM_KERNEL_ONEXPU_OPS_H_

#include "absl/status/status.h"

namespace onexpu::tf_plugin {

// ALREADY_EXISTS when another copy of this library is in the process: TensorFlow would end it at
// the second registration of a device, an op or a kernel.
absl::Status RegisterOps();

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_CUSTOM_KERNEL_ONEXPU_OPS_H_
