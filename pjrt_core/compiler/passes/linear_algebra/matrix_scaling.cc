#include "pjrt_core/compiler/passes/linear_algebra/matrix_scaling.h"

#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/base/status_macros.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/service/hlo_creation_utils.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;

bool IsComplex(const HloInstruction& array) {
  return xla::primitive_util::IsComplexType(array.shape().element_type());
}

HloInstruction* Constant(HloInstruction* near, xla::Literal literal) {
  return near->AddInstruction(HloInstruction::CreateConstant(std::move(literal)));
}

HloInstruction* Spread(HloInstruction* scalar, const HloInstruction& like) {
  return xla::MakeBroadcastHlo(scalar, {}, like.shape().dimensions());
}

// A value for each matrix, for each element of the matrices, or of vectors, of `like`.
HloInstruction* SpreadBatch(HloInstruction* batch, const HloInstruction& like) {
  std::vector<int64_t> dimensions(batch->shape().dimensions().size());
  std::iota(dimensions.begin(), dimensions.end(), 0);
  return xla::MakeBroadcastHlo(batch, dimensions, like.shape().dimensions());
}

// Whether elements of the matrices of `like` are in `part`; null for all of them.
absl::StatusOr<HloInstruction*> IsIn(MatrixPart part, HloInstruction* like) {
  if (part == MatrixPart::kAll) return nullptr;
  const xla::Shape indices = xla::ShapeUtil::ChangeElementType(like->shape(), xla::S32);
  const int64_t rank = indices.dimensions().size();
  return xla::MakeCompareHlo(part == MatrixPart::kLowerTriangle ? xla::ComparisonDirection::kGe
                                                                : xla::ComparisonDirection::kLe,
                             xla::MakeIotaHlo(like->parent(), indices, rank - 2),
                             xla::MakeIotaHlo(like->parent(), indices, rank - 1));
}

// The larger of the magnitudes of real and imaginary parts.
absl::StatusOr<HloInstruction*> Magnitude(HloInstruction* array) {
  if (!IsComplex(*array)) return xla::MakeUnaryHlo(HloOpcode::kAbs, array);
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * real, xla::MakeUnaryHlo(HloOpcode::kReal, array));
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * imaginary, xla::MakeUnaryHlo(HloOpcode::kImag, array));
  ONEXPU_ASSIGN_OR_RETURN(real, xla::MakeUnaryHlo(HloOpcode::kAbs, real));
  ONEXPU_ASSIGN_OR_RETURN(imaginary, xla::MakeUnaryHlo(HloOpcode::kAbs, imaginary));
  return xla::MakeBinaryHlo(HloOpcode::kMaximum, real, imaginary);
}

// The largest power of two that is not above `x`: the exponent alone. The smallest normal number
// for what is below it, 1 for what is not finite.
absl::StatusOr<HloInstruction*> PowerOfTwo(HloInstruction* x) {
  const bool is_single = x->shape().element_type() == xla::F32;
  const xla::PrimitiveType type = is_single ? xla::U32 : xla::U64;
  const auto bits = [&](uint64_t value) {
    return Spread(
        Constant(x, is_single ? xla::LiteralUtil::CreateR0<uint32_t>(static_cast<uint32_t>(value))
                              : xla::LiteralUtil::CreateR0<uint64_t>(value)),
        *x);
  };
  const int mantissa = is_single ? 23 : 52;
  const uint64_t exponents = is_single ? 0xff : 0x7ff;
  HloInstruction* infinity = bits(exponents << mantissa);
  HloInstruction* exponent = xla::MakeBitcastConvertToHlo(x, type);
  ONEXPU_ASSIGN_OR_RETURN(exponent, xla::MakeBinaryHlo(HloOpcode::kAnd, exponent, infinity));
  ONEXPU_ASSIGN_OR_RETURN(
      exponent, xla::MakeBinaryHlo(HloOpcode::kMaximum, exponent, bits(uint64_t{1} << mantissa)));
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * is_finite,
                          xla::MakeCompareHlo(xla::ComparisonDirection::kLt, exponent, infinity));
  ONEXPU_ASSIGN_OR_RETURN(exponent,
                          xla::MakeSelectHlo(is_finite, exponent, bits(exponents / 2 << mantissa)));
  return xla::MakeBitcastConvertToHlo(exponent, x->shape().element_type());
}

// `opcode` of an array and reals, part by part for complex numbers.
absl::StatusOr<HloInstruction*> WithReal(HloOpcode opcode, HloInstruction* array,
                                         HloInstruction* reals) {
  if (!IsComplex(*array)) return xla::MakeBinaryHlo(opcode, array, reals);
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * real, xla::MakeUnaryHlo(HloOpcode::kReal, array));
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * imaginary, xla::MakeUnaryHlo(HloOpcode::kImag, array));
  ONEXPU_ASSIGN_OR_RETURN(real, xla::MakeBinaryHlo(opcode, real, reals));
  ONEXPU_ASSIGN_OR_RETURN(imaginary, xla::MakeBinaryHlo(opcode, imaginary, reals));
  return xla::MakeBinaryHlo(HloOpcode::kComplex, real, imaginary);
}

// A power of two for each matrix.
absl::StatusOr<HloInstruction*> ScaleOf(HloInstruction* matrices, MatrixPart read) {
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * magnitude, Magnitude(matrices));
  HloInstruction* zero =
      Constant(matrices, xla::LiteralUtil::Zero(magnitude->shape().element_type()));
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * is_read, IsIn(read, matrices));
  if (is_read != nullptr) {
    ONEXPU_ASSIGN_OR_RETURN(magnitude,
                            xla::MakeSelectHlo(is_read, magnitude, Spread(zero, *magnitude)));
  }
  const int64_t rank = matrices->shape().dimensions().size();
  ONEXPU_ASSIGN_OR_RETURN(
      HloInstruction * largest,
      xla::MakeReduceHlo(magnitude, zero, {rank - 2, rank - 1}, HloOpcode::kMaximum));
  return PowerOfTwo(largest);
}

// The result, multiplied by the factor of each element in `part`.
absl::StatusOr<HloInstruction*> Multiplied(HloInstruction* result, HloInstruction* factor,
                                           MatrixPart part) {
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * is_multiplied, IsIn(part, result));
  if (is_multiplied != nullptr) {
    HloInstruction* one = Constant(result, xla::LiteralUtil::One(factor->shape().element_type()));
    ONEXPU_ASSIGN_OR_RETURN(factor,
                            xla::MakeSelectHlo(is_multiplied, factor, Spread(one, *factor)));
  }
  return WithReal(HloOpcode::kMultiply, result, factor);
}

// Matrices whose largest elements are around 1, with zeros for what is below the square of the
// type's rounding error.
absl::StatusOr<HloInstruction*> WithoutNegligible(HloInstruction* matrices, bool keeps_diagonal) {
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * magnitude, Magnitude(matrices));
  constexpr float kSingle = std::numeric_limits<float>::epsilon();
  constexpr double kDouble = std::numeric_limits<double>::epsilon();
  HloInstruction* limit =
      Constant(matrices, magnitude->shape().element_type() == xla::F32
                             ? xla::LiteralUtil::CreateR0<float>(kSingle * kSingle)
                             : xla::LiteralUtil::CreateR0<double>(kDouble * kDouble));
  ONEXPU_ASSIGN_OR_RETURN(
      HloInstruction * is_negligible,
      xla::MakeCompareHlo(xla::ComparisonDirection::kLt, magnitude, Spread(limit, *magnitude)));
  if (keeps_diagonal) {
    const xla::Shape indices = xla::ShapeUtil::ChangeElementType(matrices->shape(), xla::S32);
    const int64_t rank = indices.dimensions().size();
    ONEXPU_ASSIGN_OR_RETURN(
        HloInstruction * is_off_diagonal,
        xla::MakeCompareHlo(xla::ComparisonDirection::kNe,
                            xla::MakeIotaHlo(matrices->parent(), indices, rank - 2),
                            xla::MakeIotaHlo(matrices->parent(), indices, rank - 1)));
    ONEXPU_ASSIGN_OR_RETURN(is_negligible,
                            xla::MakeBinaryHlo(HloOpcode::kAnd, is_negligible, is_off_diagonal));
  }
  HloInstruction* zero =
      Constant(matrices, xla::LiteralUtil::Zero(matrices->shape().element_type()));
  return xla::MakeSelectHlo(is_negligible, Spread(zero, *matrices), matrices);
}

}  // namespace

absl::StatusOr<HloInstruction*> ScaleMatrices(HloInstruction* call, MatrixPart read) {
  HloInstruction* matrices = call->mutable_operand(0);
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * scale, ScaleOf(matrices, read));
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * divided,
                          WithReal(HloOpcode::kDivide, matrices, SpreadBatch(scale, *matrices)));
  HloInstruction* inner =
      call->AddInstruction(call->CloneWithNewOperands(call->shape(), {divided}));
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * vectors, xla::MakeGetTupleElementHlo(inner, 0));
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * values, xla::MakeGetTupleElementHlo(inner, 1));
  ONEXPU_ASSIGN_OR_RETURN(values,
                          Multiplied(values, SpreadBatch(scale, *values), MatrixPart::kAll));
  ONEXPU_RETURN_IF_ERROR(call->parent()->ReplaceInstruction(
      call, call->AddInstruction(HloInstruction::CreateTuple({vectors, values}))));
  return inner;
}

absl::Status DropNegligible(HloInstruction* call) {
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * kept,
                          WithoutNegligible(call->mutable_operand(0), /*keeps_diagonal=*/true));
  return call->ReplaceOperandWith(0, kept);
}

absl::Status ScaleColumns(HloInstruction* call) {
  HloInstruction* matrices = call->mutable_operand(0);
  const int64_t rank = matrices->shape().dimensions().size();
  std::vector<int64_t> dimensions(rank - 1);  // all but that of the rows
  std::iota(dimensions.begin(), dimensions.end(), 0);
  dimensions.back() = rank - 1;
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * magnitude, Magnitude(matrices));
  HloInstruction* zero =
      Constant(matrices, xla::LiteralUtil::Zero(magnitude->shape().element_type()));
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * scale,
                          xla::MakeReduceHlo(magnitude, zero, {rank - 2}, HloOpcode::kMaximum));
  ONEXPU_ASSIGN_OR_RETURN(scale, PowerOfTwo(scale));
  HloInstruction* factor = xla::MakeBroadcastHlo(scale, dimensions, matrices->shape().dimensions());
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * divided, WithReal(HloOpcode::kDivide, matrices, factor));
  ONEXPU_ASSIGN_OR_RETURN(divided, WithoutNegligible(divided, /*keeps_diagonal=*/false));
  HloInstruction* inner =
      call->AddInstruction(call->CloneWithNewOperands(call->shape(), {divided}));
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * packed, xla::MakeGetTupleElementHlo(inner, 0));
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * factors, xla::MakeGetTupleElementHlo(inner, 1));
  ONEXPU_ASSIGN_OR_RETURN(packed, Multiplied(packed, factor, MatrixPart::kUpperTriangle));
  return call->parent()->ReplaceInstruction(
      call, call->AddInstruction(HloInstruction::CreateTuple({packed, factors})));
}

}  // namespace onexpu::compiler
