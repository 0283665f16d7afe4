#include "pjrt_core/compiler/passes/dynamic_shapes/dynamic_shape_writer.h"

#include <utility>

#include "xla/literal_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {

using xla::HloInstruction;
using xla::HloOpcode;

HloInstruction* DynamicShapeWriter::Add(std::unique_ptr<HloInstruction> instruction) const {
  return replaced_->parent()->AddInstruction(std::move(instruction), &replaced_->metadata());
}

HloInstruction* DynamicShapeWriter::Constant(int64_t value) const {
  return Add(HloInstruction::CreateConstant(
      xla::LiteralUtil::CreateR0<int32_t>(static_cast<int32_t>(value))));
}

HloInstruction* DynamicShapeWriter::Zero(xla::PrimitiveType type) const {
  return Add(HloInstruction::CreateConstant(xla::LiteralUtil::Zero(type)));
}

HloInstruction* DynamicShapeWriter::Compute(HloOpcode opcode, HloInstruction* a,
                                            HloInstruction* b) const {
  return Add(HloInstruction::CreateBinary(a->shape(), opcode, a, b));
}

HloInstruction* DynamicShapeWriter::Compute(HloOpcode opcode, HloInstruction* a, int64_t b) const {
  return Compute(opcode, a, Constant(b));
}

HloInstruction* DynamicShapeWriter::AtLeastZero(HloInstruction* a) const {
  return Compute(HloOpcode::kMaximum, a, Constant(0));
}

HloInstruction* DynamicShapeWriter::Size(HloInstruction* array, int64_t dimension) const {
  return Add(HloInstruction::CreateGetDimensionSize(xla::ShapeUtil::MakeShape(xla::S32, {}), array,
                                                    dimension));
}

HloInstruction* DynamicShapeWriter::SetSize(HloInstruction* array, int64_t dimension,
                                            HloInstruction* size) const {
  xla::Shape shape = array->shape();
  shape.set_dynamic_dimension(dimension, true);
  return Add(HloInstruction::CreateSetDimensionSize(shape, array, size, dimension));
}

HloInstruction* DynamicShapeWriter::Static(HloInstruction* array) const {
  for (int64_t d = 0; d < static_cast<int64_t>(array->shape().dimensions().size()); ++d) {
    if (!array->shape().is_dynamic_dimension(d)) continue;
    xla::Shape shape = array->shape();
    shape.set_dynamic_dimension(d, false);
    array =
        Add(HloInstruction::CreateSetDimensionSize(shape, array, Constant(shape.dimensions(d)), d));
  }
  return array;
}

HloInstruction* DynamicShapeWriter::Masked(HloInstruction* array,
                                           absl::Span<const int64_t> dimensions,
                                           HloInstruction* padding) const {
  HloInstruction* masked = Static(array);
  return Add(HloInstruction::CreateTernary(
      masked->shape(), HloOpcode::kSelect, IsInside(array, dimensions), masked,
      Add(HloInstruction::CreateBroadcast(masked->shape(), padding, {}))));
}

HloInstruction* DynamicShapeWriter::ContinuedByIdentity(HloInstruction* matrices) const {
  const auto rank = static_cast<int64_t>(matrices->shape().dimensions().size());
  HloInstruction* matrix = Static(matrices);
  const xla::Shape indices = xla::ShapeUtil::ChangeElementType(matrix->shape(), xla::S32);
  HloInstruction* is_diagonal = Add(HloInstruction::CreateCompare(
      xla::ShapeUtil::ChangeElementType(matrix->shape(), xla::PRED),
      Add(HloInstruction::CreateIota(indices, rank - 2)),
      Add(HloInstruction::CreateIota(indices, rank - 1)), xla::ComparisonDirection::kEq));
  HloInstruction* identity = Add(HloInstruction::CreateConvert(matrix->shape(), is_diagonal));
  return Add(HloInstruction::CreateTernary(matrix->shape(), HloOpcode::kSelect,
                                           IsInside(matrices, {rank - 2, rank - 1}), matrix,
                                           identity));
}

absl::Status DynamicShapeWriter::ReplaceBy(HloInstruction* replacement) const {
  return replaced_->parent()->ReplaceInstruction(replaced_, replacement);
}

HloInstruction* DynamicShapeWriter::IsInside(HloInstruction* array,
                                             absl::Span<const int64_t> dimensions) const {
  xla::Shape shape = array->shape();
  shape.clear_dynamic_dimensions();
  const xla::Shape indices = xla::ShapeUtil::ChangeElementType(shape, xla::S32);
  const xla::Shape mask = xla::ShapeUtil::ChangeElementType(shape, xla::PRED);
  HloInstruction* is_inside = nullptr;
  for (const int64_t d : dimensions) {
    if (!array->shape().is_dynamic_dimension(d)) continue;
    HloInstruction* is_below = Add(HloInstruction::CreateCompare(
        mask, Add(HloInstruction::CreateIota(indices, d)),
        Add(HloInstruction::CreateBroadcast(indices, Size(array, d), {})),
        xla::ComparisonDirection::kLt));
    is_inside = is_inside == nullptr ? is_below : Compute(HloOpcode::kAnd, is_inside, is_below);
  }
  if (is_inside != nullptr) return is_inside;
  return Add(HloInstruction::CreateBroadcast(
      mask, Add(HloInstruction::CreateConstant(xla::LiteralUtil::CreateR0<bool>(true))), {}));
}

}  // namespace onexpu::compiler
