// BiasAddGrad: the sums of all channels. TensorFlow's translation writes an MLIR module
// (elementwise/unary_functions.cc says what that costs).
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/compiler/tf2xla/xla_helpers.h"
#include "tensorflow/compiler/tf2xla/xla_op_kernel.h"
#include "tensorflow/core/util/tensor_format.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/xla_builder.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::XlaHelpers;
using ::tensorflow::XlaOpKernelContext;

class BiasGradient final : public Translation {
 public:
  explicit BiasGradient(OpKernelConstruction* construction) : Translation(construction) {
    std::string format;
    OP_REQUIRES_OK(construction, construction->GetAttr("data_format", &format));
    OP_REQUIRES(construction, tensorflow::FormatFromString(format, &format_),
                absl::InvalidArgumentError("Invalid data format"));
  }

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    const tensorflow::TensorShape shape = context->InputShape(0);
    if (shape.dims() < 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("Input tensor must be at least 2D: ", shape.DebugString()));
    }
    const int64_t channels = format_ == tensorflow::FORMAT_NHWC ? shape.dims() - 1 : 1;
    std::vector<int64_t> others;
    for (int64_t i = 0; i < shape.dims(); ++i) {
      if (i != channels) others.push_back(i);
    }
    const DataType type = context->input_type(0);
    const DataType wide = XlaHelpers::SumAccumulationType(type);
    context->SetOutput(0, XlaHelpers::ConvertElementType(
                              xla::Reduce(XlaHelpers::ConvertElementType(context->Input(0), wide),
                                          XlaHelpers::Zero(context->builder(), wide),
                                          *context->GetOrCreateAdd(wide), others),
                              type));
    return absl::OkStatus();
  }

  tensorflow::TensorFormat format_;
};

}  // namespace

void RegisterBiasGradient() { RegisterTranslation<BiasGradient>(TranslationOf("BiasAddGrad")); }

}  // namespace onexpu::tf_plugin
