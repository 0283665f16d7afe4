// LeftShift and RightShift by any number of bits. TensorFlow's kernels clamp the number to what the
// type has; XLA shifts everything out.
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "tensorflow/compiler/tf2xla/kernels/cwise_ops.h"
#include "tensorflow/core/util/bcast.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/primitive_util.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::XlaOpKernelContext;
using ::xla::ScalarLike;
using ::xla::XlaOp;

// Inputs: integers, numbers of bits of the same type.
template <bool is_left>
class Shift final : public tensorflow::XlaBinaryOp {
 public:
  using XlaBinaryOp::XlaBinaryOp;

 private:
  XlaOp Computation(XlaOpKernelContext* context, const XlaOp& x, const absl::Span<const int64_t>&,
                    const XlaOp& bits, const absl::Span<const int64_t>&, const tensorflow::BCast&,
                    const std::vector<int64_t>& dimensions) override {
    const xla::PrimitiveType type = context->input_xla_type(0);
    const XlaOp clamped = xla::Clamp(ScalarLike(bits, 0), bits,
                                     ScalarLike(bits, xla::primitive_util::BitWidth(type) - 1));
    if (is_left) return xla::ShiftLeft(x, clamped, dimensions);
    return xla::primitive_util::IsUnsignedIntegralType(type)
               ? xla::ShiftRightLogical(x, clamped, dimensions)
               : xla::ShiftRightArithmetic(x, clamped, dimensions);
  }
};

}  // namespace

void RegisterBitShifts() {
  RegisterTranslation<Shift<true>>(TranslationOf("LeftShift"));
  RegisterTranslation<Shift<false>>(TranslationOf("RightShift"));
}

}  // namespace onexpu::tf_plugin
