#include "pjrt_core/compiler/passes/matrix_scaling.h"

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "pjrt_core/program/status_macros.h"
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

// The result, multiplied by the scale where it grows with the matrices.
absl::StatusOr<HloInstruction*> Unscaled(HloInstruction* result, HloInstruction* scale,
                                         MatrixPart part) {
  HloInstruction* factor = SpreadBatch(scale, *result);
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * grows, IsIn(part, result));
  if (grows != nullptr) {
    HloInstruction* one = Constant(result, xla::LiteralUtil::One(scale->shape().element_type()));
    ONEXPU_ASSIGN_OR_RETURN(factor, xla::MakeSelectHlo(grows, factor, Spread(one, *factor)));
  }
  return WithReal(HloOpcode::kMultiply, result, factor);
}

}  // namespace

absl::StatusOr<HloInstruction*> ScaleMatrices(HloInstruction* call, MatrixPart read,
                                              ScaledResult scaled) {
  HloInstruction* matrices = call->mutable_operand(0);
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * scale, ScaleOf(matrices, read));
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * divided,
                          WithReal(HloOpcode::kDivide, matrices, SpreadBatch(scale, *matrices)));
  HloInstruction* inner =
      call->AddInstruction(call->CloneWithNewOperands(call->shape(), {divided}));
  std::vector<HloInstruction*> results;
  for (int64_t i = 0; i < static_cast<int64_t>(call->shape().tuple_shapes().size()); ++i) {
    ONEXPU_ASSIGN_OR_RETURN(HloInstruction * part, xla::MakeGetTupleElementHlo(inner, i));
    if (i == scaled.index) {
      ONEXPU_ASSIGN_OR_RETURN(part, Unscaled(part, scale, scaled.part));
    }
    results.push_back(part);
  }
  ONEXPU_RETURN_IF_ERROR(call->parent()->ReplaceInstruction(
      call, call->AddInstruction(HloInstruction::CreateTuple(results))));
  return inner;
}

}  // namespace onexpu::compiler
