// Grey dilation of images, Dilation2D, and its gradients: each result is the greatest sum of an
// element under the window and of the filter there; a gradient goes to where that sum came from
// (Soille, Morphological Image Analysis, 2004).
//
// Images are [batch, rows, columns, depth], filters [rows, columns, depth].
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/util/padding.h"
#include "tf_plugin/translations/image/image_window.h"
#include "tf_plugin/translations/registration.h"
#include "xla/hlo/builder/lib/arithmetic.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernel;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

class DilationKernel : public XlaOpKernel {
 public:
  explicit DilationKernel(OpKernelConstruction* construction) : XlaOpKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("strides", &strides_));
    OP_REQUIRES_OK(construction, construction->GetAttr("rates", &rates_));
    OP_REQUIRES_OK(construction, construction->GetAttr("padding", &padding_));
    for (const auto* values : {&strides_, &rates_}) {
      OP_REQUIRES(construction,
                  values->size() == 4 && values->front() == 1 && values->back() == 1 &&
                      (*values)[1] > 0 && (*values)[2] > 0,
                  absl::InvalidArgumentError(
                      "strides and rates must be [1, rows, columns, 1] of positive numbers"));
    }
  }

 protected:
  // Where the greatest sums are, [batch, rows, columns, depth], and what they are.
  struct Greatest {
    XlaOp sum, place;
  };

  absl::StatusOr<ImageWindow> FindWindow(XlaOpKernelContext* context) const {
    const TensorShape input = context->InputShape(0), filter = context->InputShape(1);
    if (input.dims() != 4 || filter.dims() != 3) {
      return absl::InvalidArgumentError(
          absl::StrCat("input must be 4-dimensional and filter 3-dimensional, but they are ",
                       input.DebugString(), " and ", filter.DebugString()));
    }
    if (input.dim_size(3) != filter.dim_size(2)) {
      return absl::InvalidArgumentError(
          absl::StrCat("input and filter must have the same depth: ", input.dim_size(3), " vs ",
                       filter.dim_size(2)));
    }
    return ImageWindow::Create(
        input, {input.dim_size(1), filter.dim_size(0), strides_[1], rates_[1]},
        {input.dim_size(2), filter.dim_size(1), strides_[2], rates_[2]}, padding_);
  }

  static absl::Status CheckGradient(XlaOpKernelContext* context, const ImageWindow& window) {
    const TensorShape wanted(window.ResultShape());
    if (context->InputShape(2) == wanted) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("out_backprop has shape ",
                                                   context->InputShape(2).DebugString(),
                                                   ", but must have ", wanted.DebugString()));
  }

  static Greatest Dilate(XlaOpKernelContext* context, const ImageWindow& window) {
    xla::XlaBuilder* const builder = context->builder();
    const xla::PrimitiveType type = context->input_xla_type(0);
    const XlaOp input = window.Pad(context->Input(0), xla::Zero(builder, type));
    const XlaOp is_inside = window.IsInside(builder);  // padding takes no part
    Greatest greatest = {
        xla::Broadcast(xla::MinFiniteValue(builder, type), window.ResultShape()),
        xla::Broadcast(xla::ConstantR0<int32_t>(builder, 0), window.ResultShape())};
    window.ForEach([&](int64_t k, int64_t row, int64_t column) {
      const XlaOp weight = xla::Reshape(xla::Slice(context->Input(1), {row, column, 0},
                                                   {row + 1, column + 1, window.depth}, {1, 1, 1}),
                                        {window.depth});
      const XlaOp sum = xla::Add(window.Under(input, row, column), weight, {3});
      const XlaOp is_greater =
          xla::And(xla::Gt(sum, greatest.sum), window.Under(is_inside, row, column));
      greatest.sum = xla::Select(is_greater, sum, greatest.sum);
      greatest.place = xla::Select(is_greater, xla::FullLike(greatest.place, k), greatest.place);
    });
    return greatest;
  }

  // The gradient, where the greatest sum came from the filter's `k`-th element.
  static XlaOp GradientOf(XlaOpKernelContext* context, const Greatest& greatest, int64_t k) {
    const XlaOp gradient = context->Input(2);
    return xla::Select(xla::Eq(greatest.place, xla::ScalarLike(greatest.place, k)), gradient,
                       xla::ZerosLike(gradient));
  }

 private:
  std::vector<int32_t> strides_, rates_;
  tensorflow::Padding padding_;
};

class Dilation final : public DilationKernel {
 public:
  using DilationKernel::DilationKernel;

  void Compile(XlaOpKernelContext* context) override {
    const absl::StatusOr<ImageWindow> window = FindWindow(context);
    OP_REQUIRES_OK(context, window.status());
    context->SetOutput(0, Dilate(context, *window).sum);
  }
};

class DilationInputGradient final : public DilationKernel {
 public:
  using DilationKernel::DilationKernel;

  void Compile(XlaOpKernelContext* context) override {
    const absl::StatusOr<ImageWindow> window = FindWindow(context);
    OP_REQUIRES_OK(context, window.status());
    OP_REQUIRES_OK(context, CheckGradient(context, *window));
    const Greatest greatest = Dilate(context, *window);
    XlaOp sum = xla::ZerosLike(context->Input(0));
    window->ForEach([&](int64_t k, int64_t row, int64_t column) {
      sum = sum +
            window->Back(GradientOf(context, greatest, k), context->input_xla_type(0), row, column);
    });
    context->SetOutput(0, sum);
  }
};

class DilationFilterGradient final : public DilationKernel {
 public:
  using DilationKernel::DilationKernel;

  void Compile(XlaOpKernelContext* context) override {
    const absl::StatusOr<ImageWindow> window = FindWindow(context);
    OP_REQUIRES_OK(context, window.status());
    OP_REQUIRES_OK(context, CheckGradient(context, *window));
    const Greatest greatest = Dilate(context, *window);
    xla::XlaBuilder* const builder = context->builder();
    const xla::PrimitiveType type = context->input_xla_type(0);
    std::vector<XlaOp> sums;
    window->ForEach([&](int64_t k, int64_t, int64_t) {
      sums.push_back(
          xla::Reshape(xla::Reduce(GradientOf(context, greatest, k), xla::Zero(builder, type),
                                   xla::CreateScalarAddComputation(type, builder), {0, 1, 2}),
                       {1, window->depth}));
    });
    context->SetOutput(0,
                       xla::Reshape(xla::ConcatInDim(builder, sums, 0),
                                    {window->rows.filter, window->columns.filter, window->depth}));
  }
};

}  // namespace

void RegisterDilations() {
  RegisterTranslation<Dilation>(TranslationOf("Dilation2D"));
  RegisterTranslation<DilationInputGradient>(TranslationOf("Dilation2DBackpropInput"));
  RegisterTranslation<DilationFilterGradient>(TranslationOf("Dilation2DBackpropFilter"));
}

}  // namespace onexpu::tf_plugin
