// FusedBatchNormV3 and its gradient: instructions of XLA, which the compiler expands. TensorFlow's
// translations write an MLIR module for each (elementwise/unary_functions.cc says what that costs).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tensorflow/compiler/tf2xla/xla_helpers.h"
#include "tensorflow/compiler/tf2xla/xla_op_kernel.h"
#include "tensorflow/core/util/tensor_format.h"
#include "tf_plugin/translations/dynamic_sizes/common_bounds.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaHelpers;
using ::tensorflow::XlaOpKernelContext;
using ::xla::ScalarLike;
using ::xla::XlaOp;

// The statistics have a type of their own, in which everything is computed: f32 for images of 16
// bits.
class BatchNorm : public Translation {
 public:
  explicit BatchNorm(OpKernelConstruction* construction) : Translation(construction) {
    std::string format;
    OP_REQUIRES_OK(construction, construction->GetAttr("epsilon", &epsilon_));
    OP_REQUIRES_OK(construction, construction->GetAttr("is_training", &is_training_));
    OP_REQUIRES_OK(construction, construction->GetAttr("data_format", &format));
    OP_REQUIRES(construction, tensorflow::FormatFromString(format, &format_),
                absl::InvalidArgumentError("Invalid data format"));
  }

 protected:
  float epsilon() const { return epsilon_; }
  bool is_training() const { return is_training_; }
  int64_t ChannelDimension(const TensorShape& images) const {
    return tensorflow::GetTensorFeatureDimIndex(images.dims(), format_);
  }

 private:
  float epsilon_ = 0;
  bool is_training_ = false;
  tensorflow::TensorFormat format_;
};

// Inputs: images, scale, offset, the running mean and variance. Results: normalised images, the
// new mean and variance, and what the gradient takes: mean, variance and a scalar that has no use.
class FusedBatchNorm final : public BatchNorm {
 public:
  explicit FusedBatchNorm(OpKernelConstruction* construction) : BatchNorm(construction) {
    OP_REQUIRES_OK(construction,
                   construction->GetAttr("exponential_avg_factor", &weight_of_batch_));
  }

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    const TensorShape shape = context->InputShape(0);
    context->SetOutput(5, xla::Zero(context->builder(), context->output_xla_type(5)));
    if (shape.num_elements() == 0) {
      context->SetOutput(0, context->Input(0));
      const XlaOp undefined = xla::FullLike(context->Input(1), NAN);
      for (const int output : {1, 2, 3, 4}) context->SetOutput(output, undefined);
      return absl::OkStatus();
    }
    const XlaOp x = xla::ConvertElementType(context->Input(0), context->input_xla_type(1));
    if (is_training()) {
      Train(context, x, shape);
    } else {
      const XlaOp mean = context->Input(3), variance = context->Input(4);
      OutputImages(context, xla::BatchNormInference(x, context->Input(1), context->Input(2), mean,
                                                    variance, epsilon(), ChannelDimension(shape)));
      OutputStatistics(context, 1, mean, variance);
      OutputStatistics(context, 3, mean, variance);
    }
    return absl::OkStatus();
  }

  void Train(XlaOpKernelContext* context, XlaOp x, const TensorShape& shape) const {
    const int64_t channels = ChannelDimension(shape);
    const XlaOp results =
        xla::BatchNormTraining(x, context->Input(1), context->Input(2), epsilon(), channels);
    const XlaOp mean = xla::GetTupleElement(results, 1);
    const XlaOp variance = xla::GetTupleElement(results, 2);
    OutputImages(context, xla::GetTupleElement(results, 0));
    OutputStatistics(context, 3, mean, variance);
    // The running variance is that of a sample (Bessel's correction).
    const int64_t samples = shape.num_elements() / shape.dim_size(static_cast<int>(channels));
    const XlaOp of_sample = variance * ScalarLike(variance, static_cast<float>(samples) /
                                                                std::max<int64_t>(samples - 1, 1));
    if (weight_of_batch_ == 1) {
      OutputStatistics(context, 1, mean, of_sample);
      return;
    }
    const auto average = [&](XlaOp running, XlaOp of_batch) {
      return running * ScalarLike(running, 1 - weight_of_batch_) +
             of_batch * ScalarLike(of_batch, weight_of_batch_);
    };
    OutputStatistics(context, 1, average(context->Input(3), mean),
                     average(context->Input(4), of_sample));
  }

  static void OutputImages(XlaOpKernelContext* context, XlaOp images) {
    context->SetOutput(0, xla::ConvertElementType(images, context->output_xla_type(0)));
  }

  static void OutputStatistics(XlaOpKernelContext* context, int first, XlaOp mean, XlaOp variance) {
    context->SetOutput(first, mean);
    context->SetOutput(first + 1, variance);
  }

  float weight_of_batch_ = 1;  // in the running statistics
};

// Inputs: the gradient of the normalised images, the images, scale, mean and variance, and a
// scalar that has no use. Results: the gradients of images, scale and offset, and two empty ones.
class FusedBatchNormGradient final : public BatchNorm {
 public:
  using BatchNorm::BatchNorm;

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    const TensorShape shape = context->InputShape(1);
    const xla::Shape nothing = xla::ShapeUtil::MakeShape(context->output_xla_type(3), {0});
    for (const int output : {3, 4}) {
      context->SetOutput(output, xla::Zeros(context->builder(), nothing));
    }
    const XlaOp scale = context->Input(2);
    if (shape.num_elements() == 0) {
      context->SetOutput(0, context->Input(1));
      for (const int output : {1, 2}) context->SetOutput(output, xla::ZerosLike(scale));
      return absl::OkStatus();
    }
    const xla::PrimitiveType type = context->input_xla_type(2);
    XlaOp dy = xla::ConvertElementType(context->Input(0), type);
    XlaOp x = xla::ConvertElementType(context->Input(1), type);
    TF_RETURN_IF_ERROR(UseCommonBounds(dy, x));
    const XlaOp mean = context->Input(3), variance = context->Input(4);
    const int64_t channels = ChannelDimension(shape);
    if (is_training()) {
      const XlaOp results = xla::BatchNormGrad(x, scale, mean, variance, dy, epsilon(), channels);
      Output(context, xla::GetTupleElement(results, 0), xla::GetTupleElement(results, 1),
             xla::GetTupleElement(results, 2));
      return absl::OkStatus();
    }
    // Mean and variance are constants.
    const XlaOp reciprocal = xla::Rsqrt(variance + ScalarLike(variance, epsilon()));
    const XlaOp centered = xla::Sub(x, mean, {channels});
    Output(context, xla::Mul(dy, scale * reciprocal, {channels}),
           reciprocal * Sum(context, dy * centered, shape.dims(), channels),
           Sum(context, dy, shape.dims(), channels));
    return absl::OkStatus();
  }

  static XlaOp Sum(XlaOpKernelContext* context, XlaOp x, int64_t rank, int64_t channels) {
    std::vector<int64_t> others;
    for (int64_t d = 0; d < rank; ++d) {
      if (d != channels) others.push_back(d);
    }
    const DataType type = context->input_type(2);
    const DataType wide = XlaHelpers::SumAccumulationType(type);
    return XlaHelpers::ConvertElementType(xla::Reduce(XlaHelpers::ConvertElementType(x, wide),
                                                      XlaHelpers::Zero(context->builder(), wide),
                                                      *context->GetOrCreateAdd(wide), others),
                                          type);
  }

  static void Output(XlaOpKernelContext* context, XlaOp of_images, XlaOp of_scale,
                     XlaOp of_offset) {
    context->SetOutput(0, xla::ConvertElementType(of_images, context->output_xla_type(0)));
    context->SetOutput(1, of_scale);
    context->SetOutput(2, of_offset);
  }
};

}  // namespace

void RegisterFusedBatchNorm() {
  RegisterTranslation<FusedBatchNorm>(TranslationOf("FusedBatchNormV3"));
  RegisterTranslation<FusedBatchNormGradient>(TranslationOf("FusedBatchNormGradV3"));
}

}  // namespace onexpu::tf_plugin
