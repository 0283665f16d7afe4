#include "tf_plugin/custom_kernel/kernel_attributes.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tf_plugin/core/core_api.h"
#include "xla/tsl/platform/errors.h"

namespace onexpu::tf_plugin {
namespace {

absl::Status ReadHandler(const std::string& serialized, KernelAttributes* attributes) {
  tensorflow::NameAttrList call;
  if (!call.ParseFromString(serialized) || call.name().empty()) {
    return absl::InvalidArgumentError("onexpu: the attribute handler is no NameAttrList");
  }
  attributes->handler = call.name();
  for (const auto& [name, value] : call.attr()) {
    HandlerAttribute attribute{name, tensorflow::Tensor()};
    if (!value.has_tensor() || !attribute.value.FromProto(value.tensor()) ||
        attribute.value.dims() > 1 ||
        (attribute.value.dtype() == tensorflow::DT_STRING && attribute.value.dims() != 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("onexpu: attribute '", name, "' of '", attributes->handler,
                       "' is no string, number or vector of numbers"));
    }
    attributes->handler_attributes.push_back(std::move(attribute));
  }
  return absl::OkStatus();
}

absl::Status RegisterOwnModule(tensorflow::OpKernelConstruction* construction,
                               const std::string& kernel) {
  std::string spirv, entry_point;
  std::vector<int32_t> sizes;
  TF_RETURN_IF_ERROR(construction->GetAttr("spirv", &spirv));
  if (spirv.empty()) return absl::OkStatus();
  TF_RETURN_IF_ERROR(construction->GetAttr("entry_point", &entry_point));
  TF_RETURN_IF_ERROR(construction->GetAttr("scalar_sizes", &sizes));
  const std::vector<uint32_t> scalar_sizes(sizes.begin(), sizes.end());
  OnexpuRegisterKernelArgs args{};
  args.struct_size = sizeof(args);
  args.key = kernel.data();
  args.key_size = kernel.size();
  args.entry_point = entry_point.data();
  args.entry_point_size = entry_point.size();
  args.spirv = reinterpret_cast<const uint8_t*>(spirv.data());
  args.spirv_size = spirv.size();
  args.scalar_sizes = scalar_sizes.data();
  args.num_scalars = scalar_sizes.size();
  TF_ASSIGN_OR_RETURN(const OnexpuLaunchExtension* extension, LaunchExtension());
  return ToStatus(extension->register_kernel(&args));
}

}  // namespace

absl::Status KernelAttributes::Read(tensorflow::OpKernelConstruction* construction) {
  std::string serialized;
  TF_RETURN_IF_ERROR(construction->GetAttr("kernel_name", &name));
  TF_RETURN_IF_ERROR(construction->GetAttr("kernel", &kernel));
  TF_RETURN_IF_ERROR(construction->GetAttr("scalars", &scalars));
  TF_RETURN_IF_ERROR(construction->GetAttr("local_size", &local_size));
  TF_RETURN_IF_ERROR(construction->GetAttr("in_place", &in_place));
  TF_RETURN_IF_ERROR(construction->GetAttr("zeroed", &zeroed));
  TF_RETURN_IF_ERROR(construction->GetAttr("output_types", &output_types));
  TF_RETURN_IF_ERROR(construction->GetAttr("handler", &serialized));
  if (!serialized.empty()) return ReadHandler(serialized, this);
  return RegisterOwnModule(construction, kernel);
}

absl::Status KernelAttributes::CheckRange(absl::Span<const int64_t> global_size,
                                          absl::Span<const tensorflow::TensorShape> outputs) const {
  if (is_handler() || absl::c_all_of(global_size, [](int64_t size) { return size > 0; })) {
    return absl::OkStatus();
  }
  bool all_defined = true;
  for (size_t i = 0; i < outputs.size(); ++i) {
    all_defined &= outputs[i].num_elements() == 0 || absl::c_linear_search(zeroed, i);
  }
  if (all_defined) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("onexpu: kernel '", label(), "', range [",
                                                 absl::StrJoin(global_size, ", "),
                                                 "]: no work-items leave the outputs undefined"));
}

const std::string& KernelAttributes::target() const {
  static const auto* const kKernelTarget = new std::string("onexpu.kernel");
  return is_handler() ? handler : *kKernelTarget;
}

}  // namespace onexpu::tf_plugin
