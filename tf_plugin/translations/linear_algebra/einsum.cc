// Einsum of one or two arrays. TensorFlow's translation writes an MLIR module
// (elementwise/unary_functions.cc says what that costs).
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/lib/matrix.h"
#include "xla/hlo/builder/xla_builder.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::XlaOpKernelContext;

class Einsum final : public Translation {
 public:
  explicit Einsum(OpKernelConstruction* construction) : Translation(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("equation", &equation_));
    OP_REQUIRES(construction, num_inputs() == 1 || num_inputs() == 2,
                absl::InvalidArgumentError(
                    absl::StrCat("Expected 1 or 2 inputs, got ", num_inputs(), " inputs")));
  }

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    context->SetOutput(0, num_inputs() == 1
                              ? xla::Einsum(context->Input(0), equation_)
                              : xla::Einsum(context->Input(0), context->Input(1), equation_));
    return absl::OkStatus();
  }

  std::string equation_;
};

}  // namespace

void RegisterEinsum() { RegisterTranslation<Einsum>(TranslationOf("Einsum")); }

}  // namespace onexpu::tf_plugin
