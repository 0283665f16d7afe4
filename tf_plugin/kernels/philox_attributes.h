// Streams of random numbers: what ops say of them, and as attributes of a launch (key, counter_low,
// counter_high). Errors are INVALID_ARGUMENT.
#ifndef TF_PLUGIN_KERNELS_PHILOX_ATTRIBUTES_H_
#define TF_PLUGIN_KERNELS_PHILOX_ATTRIBUTES_H_

#include "absl/status/status.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/lib/random/philox_random.h"
#include "tf_plugin/kernels/ffi_attributes.h"

namespace onexpu::tf_plugin {

void AddStream(const tensorflow::random::PhiloxRandom& stream, FfiAttributes& attributes);

// The stream of a stateless op's seed, a vector of two in host memory.
absl::Status StreamOfSeed(const tensorflow::Tensor& seed, tensorflow::random::PhiloxRandom& stream);
absl::Status AddSeed(const tensorflow::Tensor& seed, FfiAttributes& attributes);

// Whether these name a stream of Philox; the algorithm's number is in host memory.
absl::Status CheckStream(const tensorflow::Tensor& key, const tensorflow::Tensor& counter,
                         const tensorflow::Tensor& algorithm);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_KERNELS_PHILOX_ATTRIBUTES_H_
