// OneHot for every type of indices. TensorFlow's translation counts the classes in the type of the
// indices, so 8-bit indices with more classes than the type has values select several classes.
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

// Inputs: indices, the number of classes, the value for the class of an index, the value for
// others.
class OneHot final : public Translation {
 public:
  explicit OneHot(OpKernelConstruction* construction) : Translation(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("axis", &axis_));
  }

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    const TensorShape indices_shape = context->InputShape(0);
    const int64_t rank = indices_shape.dims();
    if (axis_ < -1 || axis_ > rank) {
      return absl::InvalidArgumentError(absl::StrCat("Expected axis to be -1 or between [0, ",
                                                     rank + 1, ").  But received: ", axis_));
    }
    int64_t depth = 0;
    TF_RETURN_IF_ERROR(context->ConstantInputAsIntScalar(1, &depth));
    if (depth < 0) {
      return absl::InvalidArgumentError(absl::StrCat("depth must be non-negative, got: ", depth));
    }
    const int64_t axis = axis_ == -1 ? rank : axis_;
    const auto sizes = indices_shape.dim_sizes();
    std::vector<int64_t> shape(sizes.begin(), sizes.end());
    shape.insert(shape.begin() + axis, depth);
    std::vector<int64_t> kept(rank);
    std::iota(kept.begin(), kept.end(), 0);
    for (int64_t& dimension : kept) dimension += dimension >= axis ? 1 : 0;

    XlaOp indices = context->Input(0);
    xla::PrimitiveType type = context->input_xla_type(0);
    if (xla::primitive_util::BitWidth(type) < 32) {
      type = xla::S32;
      indices = xla::ConvertElementType(indices, type);
    }
    const XlaOp classes =
        xla::Iota(context->builder(), xla::ShapeUtil::MakeShape(type, shape), axis);
    context->SetOutput(
        0, xla::Select(xla::Eq(indices, classes, kept), xla::Broadcast(context->Input(2), shape),
                       xla::Broadcast(context->Input(3), shape)));
    return absl::OkStatus();
  }

  int axis_ = -1;
};

}  // namespace

void RegisterOneHot() {
  RegisterTranslation<OneHot>(std::move(TranslationOf("OneHot").CompileTimeConstantInput("depth")));
}

}  // namespace onexpu::tf_plugin
