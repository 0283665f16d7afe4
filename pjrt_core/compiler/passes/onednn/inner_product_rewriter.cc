#include "pjrt_core/compiler/passes/onednn/inner_product_rewriter.h"

#include <cstdint>
#include <numeric>
#include <vector>

#include "absl/status/statusor.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/analysis/hlo_queries.h"
#include "pjrt_core/compiler/passes/onednn/library_types.h"
#include "pjrt_core/compiler/passes/onednn/matmul_rewriter.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/service/hlo_creation_utils.h"
#include "xla/shape_util.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;

// From this many terms on, a standalone kernel for the sum pays off.
constexpr int64_t kMinTerms = 256;
// One vector times a few: each of the few reads the one again, so that there must be more to gain.
constexpr int64_t kMaxVectors = 16;
constexpr int64_t kMinTermsForSeveralVectors = 1024;

// A dot as the decomposer leaves it: batches first, then one dimension that is contracted and at
// most one that is free.
struct Products {
  explicit Products(const HloInstruction& dot)
      : batches(dot.dot_dimension_numbers().lhs_batch_dimensions_size()),
        terms(dot.operand(0)->shape().dimensions(Contracting(dot, 0))) {
    for (int64_t i = 0; i < batches; ++i) extents.push_back(dot.shape().dimensions(i));
    extents.push_back(terms);
    const int64_t common = xla::Product(extents);
    for (int64_t operand : {0, 1}) {
      free[operand] = xla::ShapeUtil::ElementsIn(dot.operand(operand)->shape()) / common;
    }
  }

  static int64_t Contracting(const HloInstruction& dot, int64_t operand) {
    const xla::DotDimensionNumbers& numbers = dot.dot_dimension_numbers();
    return operand == 0 ? numbers.lhs_contracting_dimensions(0)
                        : numbers.rhs_contracting_dimensions(0);
  }

  int64_t batches;
  int64_t terms;
  std::vector<int64_t> extents;  // of the batches, then the terms
  int64_t free[2];               // vectors of each operand, in each batch
};

bool IsCanonical(const HloInstruction& dot) {
  const xla::DotDimensionNumbers& numbers = dot.dot_dimension_numbers();
  const int64_t batches = numbers.lhs_batch_dimensions_size();
  for (int64_t i = 0; i < batches; ++i) {
    if (numbers.lhs_batch_dimensions(i) != i || numbers.rhs_batch_dimensions(i) != i) return false;
  }
  return numbers.lhs_contracting_dimensions_size() == 1 &&
         static_cast<int64_t>(dot.operand(0)->shape().dimensions().size()) <= batches + 2 &&
         static_cast<int64_t>(dot.operand(1)->shape().dimensions().size()) <= batches + 2;
}

// Whether the terms of a vector of an operand will be neighbours in memory. A transpose becomes a
// layout.
bool HasRows(const HloInstruction& dot, int64_t number) {
  int64_t dimension = Products::Contracting(dot, number);
  const HloInstruction* operand = dot.operand(number);
  while (operand->opcode() == HloOpcode::kTranspose) {
    dimension = operand->dimensions(dimension);
    operand = operand->operand(0);
  }
  return dimension == static_cast<int64_t>(operand->shape().dimensions().size()) - 1;
}

// The type of the products: the result's, unless that has too few digits for a sum.
xla::PrimitiveType ProductType(const HloInstruction& dot) {
  const xla::PrimitiveType type = dot.shape().element_type();
  return xla::primitive_util::IsFloatingPointType(type) && xla::primitive_util::BitWidth(type) < 32
             ? xla::F32
             : type;
}

bool ConvertsExactly(xla::PrimitiveType from, xla::PrimitiveType to) {
  using xla::primitive_util::IsFloatingPointType;
  using xla::primitive_util::IsIntegralType;
  if (from == to) return true;
  if (IsFloatingPointType(from) && IsFloatingPointType(to)) {
    return xla::primitive_util::BitWidth(from) <= xla::primitive_util::BitWidth(to);
  }
  return IsIntegralType(from) && IsIntegralType(to) &&
         xla::primitive_util::BitWidth(from) <= xla::primitive_util::BitWidth(to);
}

}  // namespace

bool InnerProductRewriter::InstructionMatchesPattern(HloInstruction* instruction) {
  if (instruction->opcode() != HloOpcode::kDot || !IsCanonical(*instruction) ||
      xla::ShapeUtil::IsZeroElementArray(instruction->shape())) {
    return false;
  }
  const xla::PrimitiveType type = ProductType(*instruction);
  if (type == xla::PRED) return false;  // no sum has that type
  for (const HloInstruction* operand : instruction->operands()) {
    if (xla::ShapeUtil::IsZeroElementArray(operand->shape()) ||
        !ConvertsExactly(operand->shape().element_type(), type)) {
      return false;
    }
  }
  const Products products(*instruction);
  const int64_t vectors = products.free[0] * products.free[1];
  if (vectors == 1) {
    // In a loop, sums that are launched cost more than a small dot in the loop's kernel.
    return products.terms >= kMinTerms &&
           (!IsInLoop(*instruction->parent()) || IsLargeDot(*instruction));
  }
  if (vectors > kMaxVectors || products.terms < kMinTermsForSeveralVectors ||
      (products.free[0] != 1 && products.free[1] != 1)) {
    return false;
  }
  // Rows times a vector are what libraries do best.
  return !HasRows(*instruction, products.free[0] > 1 ? 0 : 1) || type == xla::F64;
}

absl::StatusOr<HloInstruction*> InnerProductRewriter::ExpandInstruction(HloInstruction* dot) {
  const Products products(*dot);
  const xla::PrimitiveType type = ProductType(*dot);
  const int64_t several = products.free[0] > 1 ? 0 : 1;  // the operand of several vectors, if any
  const int64_t one = 1 - several;
  const auto vector_of = [&](int64_t operand) {
    return xla::MakeReshapeHlo(products.extents, ConvertTo(type, dot->mutable_operand(operand)));
  };
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * rhs, vector_of(one));
  HloInstruction* lhs = nullptr;
  int64_t summed = products.batches;
  if (products.free[several] == 1) {
    ONEXPU_ASSIGN_OR_RETURN(lhs, vector_of(several));
  } else {
    lhs = ConvertTo(type, dot->mutable_operand(several));
    summed = Products::Contracting(*dot, several);
    std::vector<int64_t> dimensions(products.batches);
    std::iota(dimensions.begin(), dimensions.end(), 0);
    dimensions.push_back(summed);
    rhs = xla::MakeBroadcastHlo(rhs, dimensions, lhs->shape().dimensions());
  }
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * product,
                          xla::MakeBinaryHlo(HloOpcode::kMultiply, lhs, rhs));
  HloInstruction* zero =
      dot->parent()->AddInstruction(HloInstruction::CreateConstant(xla::LiteralUtil::Zero(type)));
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * sum,
                          xla::MakeReduceHlo(product, zero, {summed}, HloOpcode::kAdd));
  for (HloInstruction* instruction : {product, sum}) instruction->set_metadata(dot->metadata());
  ONEXPU_ASSIGN_OR_RETURN(sum, xla::MakeReshapeHlo(dot->shape().dimensions(), sum));
  return ConvertTo(dot->shape().element_type(), sum);
}

}  // namespace onexpu::compiler
