// Transpose and ConjugateTranspose. TensorFlow's translation of the first knows no dimensions that
// are counted from the end, which its kernels take; that of the second makes complex numbers of
// real ones, in an array that nothing behind it expects.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/types.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/xla_builder.h"

namespace onexpu::tf_plugin {
namespace {

class TransposeKernel final : public tensorflow::XlaOpKernel {
 public:
  explicit TransposeKernel(tensorflow::OpKernelConstruction* construction)
      : XlaOpKernel(construction), is_conjugate_(type_string() == "ConjugateTranspose") {}

  void Compile(tensorflow::XlaOpKernelContext* context) override {
    std::vector<int64_t> permutation;
    OP_REQUIRES_OK(context, context->ConstantInputAsIntVector("perm", &permutation));
    OP_REQUIRES_OK(context, Resolve(context->InputShape("x").dims(), permutation));
    xla::XlaOp x = context->Input("x");
    if (is_conjugate_ && tensorflow::DataTypeIsComplex(context->input_type(0))) x = xla::Conj(x);
    context->SetOutput(0, xla::Transpose(x, permutation));
  }

 private:
  // Counts dimensions from the front; INVALID_ARGUMENT in the words of TensorFlow's CPU kernel for
  // what is no permutation.
  static absl::Status Resolve(int64_t rank, std::vector<int64_t>& permutation) {
    if (static_cast<int64_t>(permutation.size()) != rank) {
      return absl::InvalidArgumentError(absl::StrCat("transpose expects a vector of size ", rank,
                                                     ". But input(1) is a vector of size ",
                                                     permutation.size()));
    }
    std::vector<bool> is_there(rank, false);
    for (int64_t& dimension : permutation) {
      if (dimension < -rank || dimension >= rank) {
        return absl::InvalidArgumentError(
            absl::StrCat(dimension, " is out of range [", -rank, " .. ", rank, ")"));
      }
      if (dimension < 0) dimension += rank;
      is_there[dimension] = true;
    }
    for (int64_t i = 0; i < rank; ++i) {
      if (!is_there[i]) {
        return absl::InvalidArgumentError(absl::StrCat(i, " is missing from perm"));
      }
    }
    return absl::OkStatus();
  }

  const bool is_conjugate_;
};

}  // namespace

void RegisterTransposes() {
  for (const char* const op : {"Transpose", "ConjugateTranspose"}) {
    RegisterTranslation<TransposeKernel>(
        std::move(TranslationOf(op).CompileTimeConstantInput("perm")));
  }
}

}  // namespace onexpu::tf_plugin
