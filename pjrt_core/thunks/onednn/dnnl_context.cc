#include "pjrt_core/thunks/onednn/dnnl_context.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace onexpu {

absl::StatusOr<std::shared_ptr<DnnlContext>> DnnlContext::Get(const LoadContext& load) {
  if (load.dnnl != nullptr) return load.dnnl;
  absl::Status status = CatchLibraryErrors([&] {
    load.dnnl = std::make_shared<DnnlContext>(load.queue);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return load.dnnl;
}

absl::StatusOr<dnnl::memory::data_type> ToDnnl(program::ElementType element_type) {
  using Type = dnnl::memory::data_type;
  switch (element_type) {
    case program::ElementType::F32:
      return Type::f32;
    case program::ElementType::BF16:
      return Type::bf16;
    case program::ElementType::F16:
      return Type::f16;
    case program::ElementType::F64:
      return Type::f64;
    case program::ElementType::S8:
      return Type::s8;
    case program::ElementType::U8:
      return Type::u8;
    case program::ElementType::S32:
      return Type::s32;
    default:
      return absl::UnimplementedError(absl::StrCat(
          "onexpu: oneDNN has no ", program::EnumNameElementType(element_type), " tensors"));
  }
}

absl::StatusOr<dnnl::memory::desc> ToDnnl(const program::Tensor& tensor) {
  absl::StatusOr<dnnl::memory::data_type> type = ToDnnl(tensor.element_type());
  if (!type.ok()) return type.status();
  dnnl::memory::dims dimensions(tensor.dimensions()->begin(), tensor.dimensions()->end());
  dnnl::memory::dims strides(tensor.strides()->begin(), tensor.strides()->end());
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (strides[i] != 0) continue;
    if (dimensions[i] > 1)
      return absl::UnimplementedError("onexpu: a broadcast (stride 0) operand of a library call");
    strides[i] = 1;
  }
  return dnnl::memory::desc(dimensions, *type, strides);
}

dnnl::memory::desc AnyFormat(const dnnl::memory::desc& desc) {
  return dnnl::memory::desc(desc.get_dims(), desc.get_data_type(), dnnl::memory::format_tag::any);
}

absl::Status AppendActivation(program::Activation activation, float alpha,
                              dnnl::post_ops& post_ops) {
  using Algorithm = dnnl::algorithm;
  switch (activation) {
    case program::Activation::None:
      return absl::OkStatus();
    case program::Activation::Relu:
      // oneDNN's relu loses NaN. This one keeps it, but is 0 * (exp(x) - 1), which is -0, for a
      // negative x.
      post_ops.append_eltwise(Algorithm::eltwise_elu, 0.f, 0.f);
      post_ops.append_eltwise(Algorithm::eltwise_abs, 0.f, 0.f);
      return absl::OkStatus();
    case program::Activation::LeakyRelu:
      post_ops.append_eltwise(alpha == 0.f ? Algorithm::eltwise_elu : Algorithm::eltwise_relu,
                              alpha, 0.f);
      return absl::OkStatus();
    case program::Activation::Elu:
      post_ops.append_eltwise(Algorithm::eltwise_elu, alpha, 0.f);
      return absl::OkStatus();
    case program::Activation::GeluTanh:
      post_ops.append_eltwise(Algorithm::eltwise_gelu_tanh, 0.f, 0.f);
      return absl::OkStatus();
    case program::Activation::Tanh:
      post_ops.append_eltwise(Algorithm::eltwise_tanh, 0.f, 0.f);
      return absl::OkStatus();
    case program::Activation::Logistic:
      post_ops.append_eltwise(Algorithm::eltwise_logistic, 0.f, 0.f);
      return absl::OkStatus();
    case program::Activation::Swish:
      post_ops.append_eltwise(Algorithm::eltwise_swish, 1.f, 0.f);
      return absl::OkStatus();
  }
  return absl::UnimplementedError(absl::StrCat("onexpu: activation ", static_cast<int>(activation),
                                               " is not supported as an epilogue"));
}

bool IsEmpty(const program::Tensor& tensor) {
  return std::any_of(tensor.dimensions()->begin(), tensor.dimensions()->end(),
                     [](int64_t d) { return d == 0; });
}

}  // namespace onexpu
