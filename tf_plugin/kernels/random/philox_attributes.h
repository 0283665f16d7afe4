// Streams of random numbers: what ops say of them, and as attributes of a launch (key, counter_low,
// counter_high). Errors are INVALID_ARGUMENT.
#ifndef TF_PLUGIN_KERNELS_RANDOM_PHILOX_ATTRIBUTES_H_
#define TF_PLUGIN_KERNELS_RANDOM_PHILOX_ATTRIBUTES_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/lib/random/philox_random.h"
#include "tf_plugin/kernels/support/ffi_attributes.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"

namespace onexpu::tf_plugin {

void AddStream(const tensorflow::random::PhiloxRandom& stream, FfiAttributes& attributes);

// The stream of a stateless op's seed, a vector of two in host memory.
absl::Status StreamOfSeed(const tensorflow::Tensor& seed, tensorflow::random::PhiloxRandom& stream);

// The stream of a stateless op's inputs from the second on: a seed, which becomes attributes, or a
// key, a counter (which are the result, and operands then) and the number of Philox on the host.
absl::StatusOr<std::vector<PJRT_Buffer*>> StatelessStream(tensorflow::OpKernelContext* context,
                                                          bool has_seed, FfiAttributes& attributes);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_KERNELS_RANDOM_PHILOX_ATTRIBUTES_H_
