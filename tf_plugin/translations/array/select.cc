// Select with a condition of the operands' shape, a scalar, or a vector with an element for each
// row. TensorFlow's translation writes an MLIR module (elementwise/unary_functions.cc says what
// that costs).
#include "absl/status/status.h"
#include "tf_plugin/translations/dynamic_sizes/common_bounds.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/shape.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

// Inputs: the condition, x, y.
class Select final : public Translation {
 public:
  using Translation::Translation;

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    XlaOp condition = context->Input(0), x = context->Input(1), y = context->Input(2);
    TF_RETURN_IF_ERROR(UseCommonBounds(x, y));
    TF_ASSIGN_OR_RETURN(const xla::Shape rows, context->InputXlaShape(0));
    TF_ASSIGN_OR_RETURN(xla::Shape shape, context->builder()->GetShape(x));
    if (rows.dimensions().size() == 1 && shape.dimensions().size() > 1) {
      shape.set_dimensions(0, rows.dimensions(0));
      condition = xla::BroadcastInDim(condition, shape.dimensions(), {0});
    }
    // The condition's bounds may be smaller.
    TF_RETURN_IF_ERROR(UseCommonBounds(condition, x));
    TF_RETURN_IF_ERROR(UseCommonBounds(x, y));
    context->SetOutput(0, xla::Select(condition, x, y));
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterSelect() { RegisterTranslation<Select>(TranslationOf("Select")); }

}  // namespace onexpu::tf_plugin
