// A stream of random numbers as attributes of a launch: key, counter_low, counter_high.
#ifndef TF_PLUGIN_KERNELS_PHILOX_ATTRIBUTES_H_
#define TF_PLUGIN_KERNELS_PHILOX_ATTRIBUTES_H_

#include "tensorflow/core/lib/random/philox_random.h"
#include "tf_plugin/kernels/ffi_attributes.h"

namespace onexpu::tf_plugin {

void AddStream(const tensorflow::random::PhiloxRandom& stream, FfiAttributes& attributes);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_KERNELS_PHILOX_ATTRIBUTES_H_
