// ConcatOffset: where each operand of a concatenation begins in the result. TensorFlow's
// translation adds up the upper bounds of the operands, so gradients of concatenations after a
// dynamic operand took the wrong part.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "tf_plugin/translations/cpu_translation.h"
#include "tf_plugin/translations/dynamic_sizes/translations.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/tsl/platform/errors.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

// Inputs: the dimension, and the shape of each operand.
class ConcatOffsets final : public Translation {
 public:
  explicit ConcatOffsets(OpKernelConstruction* construction) : Translation(construction) {
    OP_REQUIRES_OK(construction, MakeCpuTranslation(*construction, def(), &static_));
  }

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    bool is_dynamic = false;
    for (int i = 1; i < context->num_inputs(); ++i) {
      std::vector<bool> dynamism;
      TF_RETURN_IF_ERROR(context->ResolveInputDynamismIntoPredVector(i, &dynamism));
      is_dynamic = is_dynamic || absl::c_linear_search(dynamism, true);
    }
    if (!is_dynamic) {
      static_->Compute(context->op_kernel_context());
      return absl::OkStatus();
    }
    int64_t dimension = 0;
    TF_RETURN_IF_ERROR(context->ConstantInputAsIntScalar(0, &dimension));
    const int64_t rank = context->InputShape(1).num_elements();
    if (dimension < 0) dimension += rank;
    if (dimension < 0 || dimension >= rank) {
      return absl::InvalidArgumentError("Concat dim is out of range");
    }
    // Other dimensions begin at zero.
    const XlaOp is_along =
        xla::Eq(xla::Iota(context->builder(), xla::S32, rank),
                xla::ConstantR0<int32_t>(context->builder(), static_cast<int32_t>(dimension)));
    XlaOp offset = xla::ZerosLike(context->Input(1));
    for (int i = 1; i < context->num_inputs(); ++i) {
      context->SetOutput(i - 1, offset);
      offset = offset + xla::Select(is_along, context->Input(i), xla::ZerosLike(context->Input(i)));
    }
    return absl::OkStatus();
  }

  std::unique_ptr<OpKernel> static_;
};

}  // namespace

void RegisterConcatOffsets() {
  RegisterTranslation<ConcatOffsets>(std::move(TranslationOf("ConcatOffset")
                                                   .CompileTimeConstantInput("concat_dim")
                                                   .CompileTimeConstantInput("shape")));
}

}  // namespace onexpu::tf_plugin
