#include "tf_plugin/kernels/philox_attributes.h"

#include <cstdint>

namespace onexpu::tf_plugin {
namespace {

int64_t Joined(uint32_t low, uint32_t high) {
  return static_cast<int64_t>(static_cast<uint64_t>(high) << 32 | low);
}

}  // namespace

void AddStream(const tensorflow::random::PhiloxRandom& stream, FfiAttributes& attributes) {
  attributes.Add("key", Joined(stream.key()[0], stream.key()[1]))
      .Add("counter_low", Joined(stream.counter()[0], stream.counter()[1]))
      .Add("counter_high", Joined(stream.counter()[2], stream.counter()[3]));
}

}  // namespace onexpu::tf_plugin
