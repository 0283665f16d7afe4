// ConjugateTranspose of real and complex arrays. TensorFlow's translation makes complex numbers of
// real ones, in an array that nothing behind it expects.
#include <algorithm>
#include <utility>
#include <vector>

#include "tensorflow/core/framework/types.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/xla_builder.h"

namespace onexpu::tf_plugin {
namespace {

class ConjugateTransposeKernel final : public tensorflow::XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(tensorflow::XlaOpKernelContext* context) override {
    std::vector<int64_t> permutation;
    OP_REQUIRES_OK(context, context->ConstantInputAsIntVector("perm", &permutation));
    std::vector<int64_t> sorted = permutation;
    std::sort(sorted.begin(), sorted.end());
    const absl::StatusOr<xla::Shape> shape = context->InputXlaShape("x");
    OP_REQUIRES_OK(context, shape.status());
    bool valid = sorted.size() == static_cast<size_t>(shape->dimensions().size());
    for (size_t i = 0; i < sorted.size(); ++i) valid &= sorted[i] == static_cast<int64_t>(i);
    OP_REQUIRES(context, valid,
                absl::InvalidArgumentError("perm of ConjugateTranspose is no permutation of the "
                                           "dimensions of x"));
    xla::XlaOp x = context->Input("x");
    if (tensorflow::DataTypeIsComplex(context->input_type(0))) x = xla::Conj(x);
    context->SetOutput(0, xla::Transpose(x, permutation));
  }
};

}  // namespace

void RegisterConjugateTranspose() {
  RegisterTranslation<ConjugateTransposeKernel>(
      std::move(TranslationOf("ConjugateTranspose").CompileTimeConstantInput("perm")));
}

}  // namespace onexpu::tf_plugin
