#include "pjrt_core/compiler/passes/onednn/library_types.h"

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

bool IsAtMostF32(xla::PrimitiveType type) {
  return type == xla::F32 || type == xla::BF16 || type == xla::F16;
}

bool HasPrimitives(xla::PrimitiveType type, const Target& target) {
  if (type == xla::BF16) return target.has_bf16;
  if (type == xla::F16) return target.device->has_f16_primitives;
  return type == xla::F32;
}

bool IsView(const xla::HloInstruction& instruction) {
  return instruction.opcode() == xla::HloOpcode::kReshape ||
         instruction.opcode() == xla::HloOpcode::kTranspose;
}

}  // namespace

xla::PrimitiveType LibraryType(const xla::HloInstruction& product, const Target& target) {
  const xla::PrimitiveType lhs = product.operand(0)->shape().element_type();
  const xla::PrimitiveType rhs = product.operand(1)->shape().element_type();
  const xla::PrimitiveType result = product.shape().element_type();
  if (lhs == xla::S8 && rhs == xla::S8 && result == xla::S32 && target.has_s8) return xla::S8;
  if (!IsAtMostF32(lhs) || !IsAtMostF32(rhs) || !IsAtMostF32(result))
    return xla::PRIMITIVE_TYPE_INVALID;
  return lhs == rhs && HasPrimitives(lhs, target) ? lhs : xla::F32;
}

xla::PrimitiveType LibraryResultType(xla::PrimitiveType operands, xla::PrimitiveType result) {
  return result == operands || result == xla::S32 ? result : xla::F32;
}

bool IsCalledAsBlas(const xla::HloInstruction& product, int64_t batch_dimensions,
                    const Target& target) {
  if (!target.schedules->calls_blas || product.shape().element_type() != xla::F32 ||
      product.operand(0)->shape().element_type() != xla::F32 ||
      product.operand(1)->shape().element_type() != xla::F32) {
    return false;
  }
  for (int64_t d = 0; d < batch_dimensions; ++d) {
    if (product.shape().dimensions(d) != 1) return false;
  }
  return true;
}

xla::HloInstruction* ConvertTo(xla::PrimitiveType type, xla::HloInstruction* value) {
  const xla::Shape& shape = value->shape();
  if (shape.element_type() == type) return value;
  const xla::Shape converted = xla::ShapeUtil::ChangeElementType(shape, type);
  if (IsView(*value) && value->user_count() <= 1) {
    return value->parent()->AddInstruction(
        value->CloneWithNewOperands(converted, {ConvertTo(type, value->mutable_operand(0))}));
  }
  return value->parent()->AddInstruction(xla::HloInstruction::CreateConvert(converted, value));
}

}  // namespace onexpu::compiler
