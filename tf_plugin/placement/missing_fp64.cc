#include "tf_plugin/placement/missing_fp64.h"

#include <algorithm>
#include <iterator>

#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/types.pb.h"
#include "tf_plugin/device/device_client.h"

namespace onexpu::tf_plugin {
namespace {

// Their kernels compute results of narrower types in 64-bit floats (custom_kernels/builtin).
constexpr absl::string_view kComputedInFp64[] = {
    "RandomGamma", "StatelessRandomBinomial", "StatelessRandomGammaV2", "StatelessRandomGammaV3"};

}  // namespace

bool HasFp64() {
  static const bool has_fp64 = DevicesHaveFp64();
  return has_fp64;
}

bool NeedsMissingFp64(absl::string_view op, const tensorflow::AttrSlice& attributes) {
  if (HasFp64()) return false;
  if (std::find(std::begin(kComputedInFp64), std::end(kComputedInFp64), op) !=
      std::end(kComputedInFp64)) {
    return true;
  }
  return std::any_of(attributes.begin(), attributes.end(), [](const auto& attribute) {
    const tensorflow::AttrValue& value = attribute.second;
    return value.value_case() == tensorflow::AttrValue::kType &&
           (value.type() == tensorflow::DT_DOUBLE || value.type() == tensorflow::DT_COMPLEX128);
  });
}

}  // namespace onexpu::tf_plugin
