// Gather, GatherV2, GatherNd and their counterparts that read variables: indices out of range give
// zeros, as in TensorFlow's kernels for GPUs. Those for CPUs raise an error, for which a device
// would have to wait; XLA reads the closest element.
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/compiler/tf2xla/kernels/gather_op_helpers.h"
#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow/core/framework/types.pb.h"
#include "tf_plugin/translations/cpu_translation.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/lib/arithmetic.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/shape.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

constexpr int kIndices = 1;

// The indices, in a type that holds the size of each dimension.
XlaOp Indices(XlaOpKernelContext* context) {
  const XlaOp indices = context->Input(kIndices);
  if (context->input_xla_type(kIndices) != xla::S16) return indices;
  return xla::ConvertElementType(indices, xla::S32);
}

// What is read: the first input, or the variable in it.
absl::StatusOr<XlaOp> Parameters(XlaOpKernelContext* context) {
  if (context->input_type(0) != tensorflow::DT_RESOURCE) return context->Input(0);
  tensorflow::DataType type;
  TensorShape shape;
  XlaOp value;
  TF_RETURN_IF_ERROR(context->GetVariableTypeAndShape(0, &type, &shape));
  TF_RETURN_IF_ERROR(context->ReadVariableInput(0, type, &shape, &value));
  return value;
}

// The result where `is_within` holds, of which each dimension is one of the result's; zeros
// elsewhere.
absl::StatusOr<XlaOp> ZeroUnless(XlaOp is_within, const std::vector<int64_t>& dimensions,
                                 XlaOp result) {
  TF_ASSIGN_OR_RETURN(const xla::Shape shape, result.builder()->GetShape(result));
  return xla::Select(xla::BroadcastInDim(is_within, shape.dimensions(), dimensions), result,
                     xla::ZerosLike(result));
}

// Inputs: parameters, indices; of GatherV2 also the dimension, which is 0 otherwise.
class Gather final : public CorrectedTranslation {
 public:
  explicit Gather(OpKernelConstruction* construction) : CorrectedTranslation(construction) {
    if (construction->HasAttr("batch_dims")) {
      OP_REQUIRES_OK(construction, construction->GetAttr("batch_dims", &batch_));
    }
  }

 private:
  absl::StatusOr<XlaOp> Correct(XlaOpKernelContext* context, XlaOp result) const override {
    TF_ASSIGN_OR_RETURN(const XlaOp parameters, Parameters(context));
    TF_ASSIGN_OR_RETURN(const xla::Shape shape, context->builder()->GetShape(parameters));
    const int64_t indices_rank = context->InputShape(kIndices).dims();
    const int64_t batch = batch_ < 0 ? batch_ + indices_rank : batch_;
    int64_t axis = batch;
    if (context->num_inputs() == 3) {
      TF_RETURN_IF_ERROR(context->ConstantInputAsIntScalar(2, &axis));
      if (axis < 0) axis += static_cast<int64_t>(shape.dimensions().size());
    }
    std::vector<int64_t> dimensions;
    for (int64_t i = 0; i < indices_rank; ++i) {
      dimensions.push_back(i < batch ? i : axis + i - batch);
    }
    const XlaOp indices = Indices(context);
    TF_ASSIGN_OR_RETURN(const xla::Shape of_indices, context->builder()->GetShape(indices));
    const XlaOp size =
        xla::ConvertElementType(xla::GetDimensionSize(parameters, axis), of_indices.element_type());
    return ZeroUnless(
        xla::And(xla::Ge(indices, xla::ScalarLike(indices, 0)), xla::Lt(indices, size)), dimensions,
        result);
  }

  int32_t batch_ = 0;
};

// What indices [..., dimensions] gathered of the parameters, with zeros where one of them is out of
// range.
absl::StatusOr<XlaOp> CorrectNd(XlaOpKernelContext* context, XlaOp parameters, XlaOp result) {
  const TensorShape shape = context->InputShape(kIndices);
  const int64_t last = shape.dims() - 1;
  xla::XlaBuilder* const builder = context->builder();
  const XlaOp indices = Indices(context);
  TF_ASSIGN_OR_RETURN(const xla::Shape of_indices, builder->GetShape(indices));
  const xla::PrimitiveType type = of_indices.element_type();
  std::vector<XlaOp> sizes;
  for (int64_t i = 0; i < shape.dim_size(static_cast<int>(last)); ++i) {
    const XlaOp size = xla::ConvertElementType(xla::GetDimensionSize(parameters, i), type);
    sizes.push_back(xla::Reshape(size, {1}));
  }
  if (sizes.empty()) return result;
  const XlaOp fits = xla::And(xla::Ge(indices, xla::ScalarLike(indices, 0)),
                              xla::Lt(indices, xla::ConcatInDim(builder, sizes, 0), {last}));
  const XlaOp is_within = xla::Reduce(fits, xla::ConstantR0<bool>(builder, true),
                                      xla::CreateScalarAndComputation(xla::PRED, builder), {last});
  std::vector<int64_t> dimensions(last);
  std::iota(dimensions.begin(), dimensions.end(), 0);
  return ZeroUnless(is_within, dimensions, result);
}

// Inputs: an array, indices.
class GatherNd final : public CorrectedTranslation {
 public:
  using CorrectedTranslation::CorrectedTranslation;

 private:
  absl::StatusOr<XlaOp> Correct(XlaOpKernelContext* context, XlaOp result) const override {
    return CorrectNd(context, context->Input(0), result);
  }
};

// Inputs: a variable, indices. TensorFlow has no translation of it.
class ResourceGatherNd final : public Translation {
 public:
  using Translation::Translation;

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    const tensorflow::DataType type = context->expected_output_dtype(0);
    TensorShape shape;
    XlaOp variable, result;
    TF_RETURN_IF_ERROR(context->ReadVariableInput(0, type, &shape, &variable));
    const TensorShape indices = context->InputShape(kIndices);
    if (indices.dims() < 1 || indices.dim_size(indices.dims() - 1) > shape.dims()) {
      return absl::InvalidArgumentError(
          absl::StrCat("indices of shape ", indices.DebugString(),
                       " have more coordinates than the variable, of shape ", shape.DebugString()));
    }
    TF_RETURN_IF_ERROR(tensorflow::XlaGather(variable, shape, context->Input(kIndices), indices,
                                             /*axis=*/0, /*indices_are_nd=*/true, type,
                                             context->input_type(kIndices), context->builder(),
                                             &result));
    TF_ASSIGN_OR_RETURN(result, CorrectNd(context, variable, result));
    context->SetOutput(0, result);
    return absl::OkStatus();
  }
};

template <typename Kernel>
void Register(const char* op) {
  tensorflow::XlaOpRegistrationBuilder translation = TranslationOf(op);
  for (const std::string& input :
       *tensorflow::XlaOpRegistry::CompileTimeConstantInputArgNames(op)) {
    translation.CompileTimeConstantInput(input);
  }
  RegisterTranslation<Kernel>(std::move(translation));
}

}  // namespace

void RegisterGathers() {
  for (const char* op : {"Gather", "GatherV2", "ResourceGather"}) Register<Gather>(op);
  Register<GatherNd>("GatherNd");
  RegisterTranslation<ResourceGatherNd>(TranslationOf("ResourceGatherNd"));
}

}  // namespace onexpu::tf_plugin
