// AvgPool3D and MaxPool3DGrad. TensorFlow's translations write an MLIR module for each
// (elementwise/unary_functions.cc says what that costs).
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensorflow/compiler/tf2xla/xla_helpers.h"
#include "tensorflow/core/util/padding.h"
#include "tensorflow/core/util/tensor_format.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/padding.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/hlo/builder/xla_computation.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaHelpers;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

using Paddings = std::vector<std::pair<int64_t, int64_t>>;

constexpr int64_t kDimensions = 5;

class Pooling3D : public Translation {
 public:
  explicit Pooling3D(OpKernelConstruction* construction) : Translation(construction) {
    OP_REQUIRES_OK(construction, Configure(construction));
  }

 protected:
  const std::vector<int64_t>& window() const { return window_; }
  const std::vector<int64_t>& strides() const { return strides_; }

  absl::StatusOr<Paddings> PaddingsOf(const TensorShape& shape) const {
    if (shape.dims() != kDimensions) {
      return absl::InvalidArgumentError("tensor_in must be 5-dimensional");
    }
    return xla::MakePadding(
        shape.dim_sizes(), window_, strides_,
        padding_ == tensorflow::SAME ? xla::Padding::kSame : xla::Padding::kValid);
  }

 private:
  absl::Status Configure(OpKernelConstruction* construction) {
    std::string format_name;
    tensorflow::TensorFormat format;
    TF_RETURN_IF_ERROR(construction->GetAttr("data_format", &format_name));
    if (!tensorflow::FormatFromString(format_name, &format)) {
      return absl::InvalidArgumentError("Invalid data format");
    }
    TF_RETURN_IF_ERROR(construction->GetAttr("ksize", &window_));
    TF_RETURN_IF_ERROR(construction->GetAttr("strides", &strides_));
    TF_RETURN_IF_ERROR(construction->GetAttr("padding", &padding_));
    if (window_.size() != kDimensions) {
      return absl::InvalidArgumentError("Sliding window ksize field must specify 5 dimensions");
    }
    if (strides_.size() != kDimensions) {
      return absl::InvalidArgumentError("Sliding window stride field must specify 5 dimensions");
    }
    const auto is_pooled = [&](char dimension) {
      return tensorflow::GetTensorDim(window_, format, dimension) != 1 ||
             tensorflow::GetTensorDim(strides_, format, dimension) != 1;
    };
    for (const auto& [dimension, name] : {std::pair('N', "batch"), std::pair('C', "depth")}) {
      if (!is_pooled(dimension)) continue;
      return absl::UnimplementedError(absl::StrCat(
          "onexpu: ", type_string(), " with ksize [", absl::StrJoin(window_, ","),
          "] and strides [", absl::StrJoin(strides_, ","), "] pools the ", name,
          " dimension, which TensorFlow has on no device. Transpose that to a spatial dimension"));
    }
    return absl::OkStatus();
  }

  std::vector<int64_t> window_, strides_;
  tensorflow::Padding padding_;
};

class AvgPool3D final : public Pooling3D {
 public:
  using Pooling3D::Pooling3D;

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    const TensorShape shape = context->InputShape(0);
    TF_ASSIGN_OR_RETURN(const Paddings paddings, PaddingsOf(shape));
    // Sums of 16-bit floats have f32.
    const DataType type = context->input_type(0), wide = XlaHelpers::SumAccumulationType(type);
    const XlaOp sums = xla::ReduceWindowWithGeneralPadding(
        XlaHelpers::ConvertElementType(context->Input(0), wide),
        XlaHelpers::Zero(context->builder(), wide), *context->GetOrCreateAdd(wide), window(),
        strides(), /*base_dilations=*/{}, /*window_dilations=*/{}, paddings);
    const XlaOp averages = Divide(context, sums, shape, paddings);
    context->SetOutput(0, XlaHelpers::ConvertElementType(averages, type));
    return absl::OkStatus();
  }

  // By the number of elements under each window, which has no padding.
  XlaOp Divide(XlaOpKernelContext* context, XlaOp sums, const TensorShape& shape,
               const Paddings& paddings) const {
    std::vector<int64_t> pooled, sizes;
    std::vector<std::vector<int32_t>> counts;
    for (int64_t d = 0; d < kDimensions; ++d) {
      if (window()[d] == 1) continue;
      counts.push_back(Counts(d, shape.dim_size(static_cast<int>(d)), paddings[d]));
      pooled.push_back(d);
      sizes.push_back(static_cast<int64_t>(counts.back().size()));
    }
    if (pooled.empty()) return sums;
    XlaOp divisor = xla::Broadcast(xla::ConstantR0<int32_t>(context->builder(), 1), sizes);
    for (size_t i = 0; i < pooled.size(); ++i) {
      divisor = xla::Mul(divisor, xla::ConstantR1<int32_t>(context->builder(), counts[i]),
                         {static_cast<int64_t>(i)});
    }
    const DataType type = XlaHelpers::SumAccumulationType(context->input_type(0));
    return xla::Div(sums, XlaHelpers::ConvertElementType(divisor, type), pooled);
  }

  // How many of the `size` elements along dimension `d` are under each window.
  std::vector<int32_t> Counts(int64_t d, int64_t size,
                              const std::pair<int64_t, int64_t>& padding) const {
    std::vector<int32_t> counts;
    const int64_t extent = window()[d], end = size + padding.second;
    for (int64_t first = -padding.first; first + extent <= end; first += strides()[d]) {
      counts.push_back(
          static_cast<int32_t>(std::min(first + extent, size) - std::max<int64_t>(first, 0)));
    }
    return counts;
  }
};

// Inputs: what was pooled, the pools (which the choice of the largest element makes again), the
// gradient. The first of equal elements gets it.
class MaxPool3DGradient final : public Pooling3D {
 public:
  using Pooling3D::Pooling3D;

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    TF_ASSIGN_OR_RETURN(const Paddings paddings, PaddingsOf(context->InputShape(0)));
    const xla::PrimitiveType type = context->input_xla_type(0);
    xla::XlaBuilder comparison("stays_chosen");
    const xla::Shape scalar = xla::ShapeUtil::MakeShape(type, {});
    xla::Ge(xla::Parameter(&comparison, 0, scalar, "chosen"),
            xla::Parameter(&comparison, 1, scalar, "next"));
    TF_ASSIGN_OR_RETURN(const xla::XlaComputation stays_chosen, comparison.Build());
    context->SetOutput(0, xla::SelectAndScatterWithGeneralPadding(
                              context->Input(0), stays_chosen, window(), strides(), paddings,
                              context->Input(2), xla::Zero(context->builder(), type),
                              *context->GetOrCreateAdd(context->input_type(0))));
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterPooling3D() {
  RegisterTranslation<AvgPool3D>(TranslationOf("AvgPool3D"));
  RegisterTranslation<MaxPool3DGradient>(TranslationOf("MaxPool3DGrad"));
}

}  // namespace onexpu::tf_plugin
