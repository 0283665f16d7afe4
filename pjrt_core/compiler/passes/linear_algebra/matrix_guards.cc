#include "pjrt_core/compiler/passes/linear_algebra/matrix_guards.h"

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "pjrt_core/base/status_macros.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/service/hlo_creation_utils.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;

// HLO of the shape of one array, beside it.
class Around {
 public:
  explicit Around(HloInstruction* array) : array_(array), shape_(array->shape()) {}

  HloInstruction* Constant(xla::Literal literal) const {
    return array_->AddInstruction(HloInstruction::CreateConstant(std::move(literal)));
  }
  HloInstruction* Spread(HloInstruction* value, absl::Span<const int64_t> dimensions) const {
    return xla::MakeBroadcastHlo(value, dimensions, shape_.dimensions());
  }
  absl::StatusOr<HloInstruction*> CompareIndices(xla::ComparisonDirection direction) const {
    const xla::Shape indices = xla::ShapeUtil::ChangeElementType(shape_, xla::S32);
    const int64_t rank = shape_.dimensions().size();
    return xla::MakeCompareHlo(direction, xla::MakeIotaHlo(array_->parent(), indices, rank - 2),
                               xla::MakeIotaHlo(array_->parent(), indices, rank - 1));
  }
  // Over the matrix: one for each of the batch.
  absl::StatusOr<HloInstruction*> All(HloInstruction* predicates) const {
    const int64_t rank = shape_.dimensions().size();
    return xla::MakeReduceHlo(predicates, Constant(xla::LiteralUtil::CreateR0<bool>(true)),
                              {rank - 2, rank - 1}, HloOpcode::kAnd);
  }
  // The array where the predicate of the batch holds, `otherwise` elsewhere.
  absl::StatusOr<HloInstruction*> Where(HloInstruction* predicate,
                                        HloInstruction* otherwise) const {
    std::vector<int64_t> batch(predicate->shape().dimensions().size());
    std::iota(batch.begin(), batch.end(), 0);
    return xla::MakeSelectHlo(Spread(predicate, batch), array_, Spread(otherwise, {}));
  }
  absl::StatusOr<HloInstruction*> NanUnless(HloInstruction* predicate) const {
    const xla::PrimitiveType type = shape_.element_type();
    const bool is_complex = xla::primitive_util::IsComplexType(type);
    ONEXPU_ASSIGN_OR_RETURN(
        xla::Literal literal,
        xla::LiteralUtil::NanValue(is_complex ? xla::primitive_util::ComplexComponentType(type)
                                              : type));
    HloInstruction* nan = Constant(std::move(literal));
    if (is_complex) {
      ONEXPU_ASSIGN_OR_RETURN(nan, xla::MakeBinaryHlo(HloOpcode::kComplex, nan, nan));
    }
    return Where(predicate, nan);
  }

 private:
  HloInstruction* array_;
  const xla::Shape shape_;
};

bool IsComplex(const HloInstruction& array) {
  return xla::primitive_util::IsComplexType(array.shape().element_type());
}

absl::StatusOr<HloInstruction*> IsFinite(HloInstruction* array) {
  if (!IsComplex(*array)) return xla::MakeUnaryHlo(HloOpcode::kIsFinite, array);
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * real, xla::MakeUnaryHlo(HloOpcode::kReal, array));
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * imaginary, xla::MakeUnaryHlo(HloOpcode::kImag, array));
  ONEXPU_ASSIGN_OR_RETURN(real, xla::MakeUnaryHlo(HloOpcode::kIsFinite, real));
  ONEXPU_ASSIGN_OR_RETURN(imaginary, xla::MakeUnaryHlo(HloOpcode::kIsFinite, imaginary));
  return xla::MakeBinaryHlo(HloOpcode::kAnd, real, imaginary);
}

}  // namespace

absl::StatusOr<HloInstruction*> NanUnlessPositiveDefinite(HloInstruction* factor) {
  const Around around(factor);
  HloInstruction* real = factor;
  if (IsComplex(*factor)) {
    ONEXPU_ASSIGN_OR_RETURN(real, xla::MakeUnaryHlo(HloOpcode::kReal, factor));
  }
  HloInstruction* zero = around.Constant(xla::LiteralUtil::Zero(real->shape().element_type()));
  ONEXPU_ASSIGN_OR_RETURN(
      HloInstruction * is_positive,
      xla::MakeCompareHlo(xla::ComparisonDirection::kGt, real, around.Spread(zero, {})));
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * is_off_diagonal,
                          around.CompareIndices(xla::ComparisonDirection::kNe));
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * is_fine,
                          xla::MakeBinaryHlo(HloOpcode::kOr, is_positive, is_off_diagonal));
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * is_definite, around.All(is_fine));
  return around.NanUnless(is_definite);
}

absl::Status GuardIteration(HloInstruction* call, MatrixPart read) {
  HloInstruction* operand = call->mutable_operand(0);
  const Around around(operand);
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * is_fine, IsFinite(operand));
  if (read != MatrixPart::kAll) {
    // Rows above their column are above the diagonal.
    ONEXPU_ASSIGN_OR_RETURN(
        HloInstruction * unread,
        around.CompareIndices(read == MatrixPart::kLowerTriangle ? xla::ComparisonDirection::kLt
                                                                 : xla::ComparisonDirection::kGt));
    ONEXPU_ASSIGN_OR_RETURN(is_fine, xla::MakeBinaryHlo(HloOpcode::kOr, is_fine, unread));
  }
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * is_finite, around.All(is_fine));
  HloInstruction* zero = around.Constant(xla::LiteralUtil::Zero(operand->shape().element_type()));
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * guarded, around.Where(is_finite, zero));
  HloInstruction* inner =
      call->AddInstruction(call->CloneWithNewOperands(call->shape(), {guarded}));
  if (!call->shape().IsTuple()) {
    ONEXPU_ASSIGN_OR_RETURN(HloInstruction * result, Around(inner).NanUnless(is_finite));
    return call->parent()->ReplaceInstruction(call, result);
  }
  std::vector<HloInstruction*> results;
  for (int64_t i = 0; i < static_cast<int64_t>(call->shape().tuple_shapes().size()); ++i) {
    ONEXPU_ASSIGN_OR_RETURN(HloInstruction * part, xla::MakeGetTupleElementHlo(inner, i));
    ONEXPU_ASSIGN_OR_RETURN(part, Around(part).NanUnless(is_finite));
    results.push_back(part);
  }
  return call->parent()->ReplaceInstruction(
      call, call->AddInstruction(HloInstruction::CreateTuple(results)));
}

}  // namespace onexpu::compiler
