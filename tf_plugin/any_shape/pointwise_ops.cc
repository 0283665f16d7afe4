#include "tf_plugin/any_shape/pointwise_ops.h"

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_split.h"

namespace onexpu::tf_plugin {
namespace {

using Names = absl::flat_hash_set<absl::string_view>;

constexpr absl::string_view kOfOneShape =
    "Abs Acos Acosh AddN Angle ApproximateEqual Asin Asinh Atan Atanh BesselI0e BesselI1e "
    "Cast Ceil ComplexAbs Conj Cos Cosh Digamma Elu EluGrad Erf Erfc Erfinv Exp Expm1 "
    "FakeQuantWithMinMaxArgs FakeQuantWithMinMaxArgsGradient Floor Imag Inv InvGrad Invert "
    "IsFinite IsInf IsNan LeakyRelu LeakyReluGrad Lgamma Log Log1p LogicalNot Ndtri Neg "
    "OnesLike PopulationCount Real Reciprocal ReciprocalGrad Relu Relu6 Relu6Grad ReluGrad "
    "Rint Round Rsqrt RsqrtGrad Select Selu SeluGrad Sigmoid SigmoidGrad Sign Sin Sinh "
    "Softplus SoftplusGrad Softsign SoftsignGrad Sqrt SqrtGrad Square Tan Tanh TanhGrad "
    "ZerosLike";

constexpr absl::string_view kBroadcasting =
    "Add AddV2 Atan2 BitwiseAnd BitwiseOr BitwiseXor Complex Div DivNoNan Equal FloorDiv "
    "FloorMod Greater GreaterEqual LeftShift Less LessEqual LogicalAnd LogicalOr Maximum "
    "Minimum Mod Mul MulNoNan NextAfter NotEqual Pow RealDiv RightShift SelectV2 "
    "SquaredDifference Sub TruncateDiv TruncateMod Xdivy Xlog1py Xlogy";

// From names with spaces between them.
const Names& NamesIn(absl::string_view text) { return *new Names(absl::StrSplit(text, ' ')); }

}  // namespace

std::optional<PointwiseOperands> PointwiseOperandsOf(absl::string_view op) {
  static const Names& of_one_shape = NamesIn(kOfOneShape);
  static const Names& broadcasting = NamesIn(kBroadcasting);
  if (of_one_shape.contains(op)) return PointwiseOperands::kOfOneShape;
  if (broadcasting.contains(op)) return PointwiseOperands::kBroadcasting;
  if (op == "ClipByValue" || op == "FakeQuantWithMinMaxVars") {
    return PointwiseOperands::kWithScalars;
  }
  if (op == "BiasAdd" || op == "BiasAddV1") return PointwiseOperands::kBias;
  return std::nullopt;
}

}  // namespace onexpu::tf_plugin
