#include "tf_plugin/kernels/random/philox_attributes.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/rng_alg.h"
#include "tensorflow/core/kernels/stateless_random_ops.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {

using ::tensorflow::Tensor;
using ::tensorflow::random::PhiloxRandom;

namespace {

int64_t Joined(uint32_t low, uint32_t high) {
  return static_cast<int64_t>(static_cast<uint64_t>(high) << 32 | low);
}

// Whether these name a stream of Philox; the algorithm's number is in host memory.
absl::Status CheckStream(const Tensor& key, const Tensor& counter, const Tensor& algorithm) {
  if (key.dims() != 1 || key.dim_size(0) != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("key must have shape [1], not ", key.shape().DebugString()));
  }
  if (counter.dims() != 1 || counter.dim_size(0) < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "counter must be a vector of 2 elements or more, not ", counter.shape().DebugString()));
  }
  if (algorithm.dims() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("alg must be a scalar, not ", algorithm.shape().DebugString()));
  }
  const int32_t number = algorithm.scalar<int32_t>()();
  if (number != tensorflow::RNG_ALG_PHILOX && number != tensorflow::RNG_ALG_AUTO_SELECT) {
    return absl::InvalidArgumentError(absl::StrCat("Unsupported algorithm id: ", number));
  }
  return absl::OkStatus();
}

}  // namespace

void AddStream(const tensorflow::random::PhiloxRandom& stream, FfiAttributes& attributes) {
  attributes.Add("key", Joined(stream.key()[0], stream.key()[1]))
      .Add("counter_low", Joined(stream.counter()[0], stream.counter()[1]))
      .Add("counter_high", Joined(stream.counter()[2], stream.counter()[3]));
}

absl::Status StreamOfSeed(const Tensor& seed, PhiloxRandom& stream) {
  if (seed.dims() != 1 || seed.dim_size(0) != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("seed must have shape [2], not ", seed.shape().DebugString()));
  }
  PhiloxRandom::Key key;
  PhiloxRandom::ResultType counter;
  TF_RETURN_IF_ERROR(tensorflow::GenerateKey(seed, &key, &counter));
  stream = PhiloxRandom(counter, key);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<PJRT_Buffer*>> StatelessStream(tensorflow::OpKernelContext* context,
                                                          bool has_seed,
                                                          FfiAttributes& attributes) {
  PhiloxRandom stream;
  std::vector<PJRT_Buffer*> operands;
  if (has_seed) {
    TF_RETURN_IF_ERROR(StreamOfSeed(context->input(1), stream));
  } else {
    TF_RETURN_IF_ERROR(CheckStream(context->input(1), context->input(2), context->input(3)));
    TF_ASSIGN_OR_RETURN(operands.emplace_back(), BufferOf(context->input(1)));
    TF_ASSIGN_OR_RETURN(operands.emplace_back(), BufferOf(context->input(2)));
  }
  AddStream(stream, attributes);
  return operands;
}

}  // namespace onexpu::tf_plugin
