// MaxPool and MaxPoolGrad with every padding. TensorFlow's translations have none for padding that
// the graph spells out; these take their place, except along dynamic dimensions, whose size decides
// how much SAME pads.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensorflow/core/util/padding.h"
#include "tensorflow/core/util/tensor_format.h"
#include "tf_plugin/translations/cpu_translation.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "xla/hlo/builder/lib/arithmetic.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/padding.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/hlo/builder/xla_computation.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::Padding;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

using Paddings = std::vector<std::pair<int64_t, int64_t>>;

// Two dimensions of the image, the batch and the channels.
constexpr int kDimensions = 4;

class MaxPooling : public Translation {
 public:
  explicit MaxPooling(OpKernelConstruction* construction) : Translation(construction) {
    OP_REQUIRES_OK(construction, Configure(construction));
    if (padding_ == Padding::EXPLICIT) return;
    OP_REQUIRES_OK(construction, MakeCpuTranslation(*construction, def(), &dynamic_));
  }

 protected:
  // Translates by TensorFlow's translation if windows go along a dynamic dimension; false
  // otherwise.
  absl::StatusOr<bool> TranslateDynamic(XlaOpKernelContext* context) const {
    TF_ASSIGN_OR_RETURN(const xla::Shape shape, context->InputXlaShape(0));
    for (int i = 0; i < kDimensions && i < static_cast<int>(shape.dimensions().size()); ++i) {
      if (!shape.is_dynamic_dimension(i) || window_[i] == 1) continue;
      if (dynamic_ == nullptr) {
        return absl::UnimplementedError(
            absl::StrCat("onexpu: ", type_string(), " with explicit padding along dimension ", i,
                         " of ", shape.ToString(),
                         ", whose size is known only at run time. Call the op outside of the "
                         "compiled function, or pad the operand to a known size"));
      }
      dynamic_->Compute(context->op_kernel_context());
      return true;
    }
    return false;
  }

  const std::vector<int64_t>& window() const { return window_; }
  const std::vector<int64_t>& strides() const { return strides_; }

  absl::StatusOr<Paddings> PaddingsOf(const TensorShape& shape) const {
    if (shape.dims() != kDimensions) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor_in must be 4-dimensional, got ", shape.DebugString()));
    }
    if (padding_ != Padding::EXPLICIT) {
      return xla::MakePadding(
          shape.dim_sizes(), window_, strides_,
          padding_ == Padding::SAME ? xla::Padding::kSame : xla::Padding::kValid);
    }
    Paddings paddings;
    for (int i = 0; i < kDimensions; ++i) {
      const auto& [low, high] =
          paddings.emplace_back(explicit_paddings_[2 * i], explicit_paddings_[2 * i + 1]);
      // A window of padding alone has no greatest element.
      if (std::max(low, high) < window_[i]) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          low > high ? "Left" : "Right", " padding ", std::max(low, high),
          " needs to be smaller than the window size ", window_[i], " in dimension ", i));
    }
    return paddings;
  }

 private:
  absl::Status Configure(OpKernelConstruction* construction) {
    std::string format_name;
    tensorflow::TensorFormat format;
    TF_RETURN_IF_ERROR(construction->GetAttr("ksize", &window_));
    TF_RETURN_IF_ERROR(construction->GetAttr("strides", &strides_));
    TF_RETURN_IF_ERROR(construction->GetAttr("padding", &padding_));
    TF_RETURN_IF_ERROR(construction->GetAttr("data_format", &format_name));
    if (!tensorflow::FormatFromString(format_name, &format)) {
      return absl::InvalidArgumentError("Invalid data format");
    }
    if (format != tensorflow::FORMAT_NHWC && format != tensorflow::FORMAT_NCHW) {
      return absl::UnimplementedError(
          absl::StrCat("onexpu: ", type_string(), " of data in format ", format_name));
    }
    TF_RETURN_IF_ERROR(CheckExtents("ksize", window_));
    TF_RETURN_IF_ERROR(CheckExtents("strides", strides_));
    if (padding_ != Padding::EXPLICIT) return absl::OkStatus();
    TF_RETURN_IF_ERROR(construction->GetAttr("explicit_paddings", &explicit_paddings_));
    return tensorflow::CheckValidPadding(padding_, explicit_paddings_, kDimensions, format);
  }

  static absl::Status CheckExtents(absl::string_view name, const std::vector<int64_t>& extents) {
    bool valid = extents.size() == kDimensions;
    for (const int64_t extent : extents) valid &= extent > 0;
    if (valid) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("Sliding window ", name,
                                                   " field must specify 4 positive numbers, got [",
                                                   absl::StrJoin(extents, ","), "]"));
  }

  std::vector<int64_t> window_;
  std::vector<int64_t> strides_;
  Padding padding_;
  std::vector<int64_t> explicit_paddings_;
  std::unique_ptr<tensorflow::OpKernel> dynamic_;
};

class MaxPoolTranslation final : public MaxPooling {
 public:
  using MaxPooling::MaxPooling;

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    TF_ASSIGN_OR_RETURN(const bool is_translated, TranslateDynamic(context));
    if (is_translated) return absl::OkStatus();
    TF_ASSIGN_OR_RETURN(const Paddings paddings, PaddingsOf(context->InputShape(0)));
    const xla::PrimitiveType type = context->input_xla_type(0);
    // TensorFlow's kernels start with the lowest finite value and go on to what is above it, so
    // they ignore NaN. Padding is never the maximum.
    XlaOp x = context->Input(0);
    if (xla::primitive_util::IsFloatingPointType(type)) {
      x = xla::Select(xla::Ne(x, x), xla::MinFiniteValue(context->builder(), type), x);
    }
    const XlaOp lowest = xla::MinValue(context->builder(), type);
    context->SetOutput(0, xla::ReduceWindowWithGeneralPadding(
                              x, lowest, xla::CreateScalarMaxComputation(type, context->builder()),
                              window(), strides(),
                              /*base_dilations=*/{}, /*window_dilations=*/{}, paddings));
    return absl::OkStatus();
  }
};

// Whether the element that a window has chosen so far stays when it meets the next: unless that is
// larger. So NaN is chosen if it is the first, as TensorFlow's kernel has it, and not later.
xla::XlaComputation StaysChosen(xla::PrimitiveType type, xla::XlaBuilder& builder) {
  const std::unique_ptr<xla::XlaBuilder> comparison = builder.CreateSubBuilder("stays_chosen");
  const xla::Shape scalar = xla::ShapeUtil::MakeShape(type, {});
  const XlaOp chosen = xla::Parameter(comparison.get(), 0, scalar, "chosen");
  const XlaOp next = xla::Parameter(comparison.get(), 1, scalar, "next");
  xla::Not(xla::Lt(chosen, next));
  return comparison->BuildAndNoteError();
}

// Inputs: what was pooled, the pools (which the choice of the greatest makes again), the gradient.
class MaxPoolGradTranslation final : public MaxPooling {
 public:
  using MaxPooling::MaxPooling;

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    TF_ASSIGN_OR_RETURN(const bool is_translated, TranslateDynamic(context));
    if (is_translated) return absl::OkStatus();
    TF_ASSIGN_OR_RETURN(const Paddings paddings, PaddingsOf(context->InputShape(0)));
    if (context->InputShape(1) != context->InputShape(2)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Expected orig_output and grad of one shape, got ", context->InputShape(1).DebugString(),
          " and ", context->InputShape(2).DebugString()));
    }
    const xla::PrimitiveType type = context->input_xla_type(2);
    xla::XlaBuilder* const builder = context->builder();
    context->SetOutput(0, xla::SelectAndScatterWithGeneralPadding(
                              context->Input(0), StaysChosen(type, *builder), window(), strides(),
                              paddings, context->Input(2), xla::Zero(builder, type),
                              xla::CreateScalarAddComputation(type, builder)));
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterMaxPooling() {
  RegisterTranslation<MaxPoolTranslation>(TranslationOf("MaxPool"));
  RegisterTranslation<MaxPoolGradTranslation>(TranslationOf("MaxPoolGrad"));
}

}  // namespace onexpu::tf_plugin
