#include "pjrt_core/compiler/codegen/accumulators.h"

#include "pjrt_core/compiler/codegen/elemental_emitter.h"
#include "pjrt_core/compiler/codegen/narrow_float.h"
#include "pjrt_core/compiler/codegen/types.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;
using xla::HloInstruction;
using xla::HloOpcode;

// Operands 0 to n-1 are the arrays, n to 2n-1 their initial values.
int64_t ArrayCount(const HloInstruction& reduction) { return reduction.operand_count() / 2; }

// The operation of a reducer that only adds or multiplies its two arguments in a narrow float; else
// kParameter.
HloOpcode NarrowSum(const HloInstruction& reduction) {
  const HloInstruction& root = *reduction.to_apply()->root_instruction();
  const bool adds = root.opcode() == HloOpcode::kAdd || root.opcode() == HloOpcode::kMultiply;
  if (!adds || !IsNarrowFloat(root.shape().element_type())) return HloOpcode::kParameter;
  const bool of_arguments = root.operand(0)->opcode() == HloOpcode::kParameter &&
                            root.operand(1)->opcode() == HloOpcode::kParameter &&
                            root.operand(0) != root.operand(1);
  return of_arguments ? root.opcode() : HloOpcode::kParameter;
}

}  // namespace

absl::StatusOr<ReductionValues> ReducedElements(FusionContext& context,
                                                const HloInstruction& reduction,
                                                const Index& index) {
  ReductionValues values;
  for (int64_t i = 0; i < ArrayCount(reduction); ++i) {
    TF_ASSIGN_OR_RETURN(values.emplace_back(), context.Element(*reduction.operand(i), index));
  }
  return values;
}

absl::StatusOr<ReductionValues> InitialValues(FusionContext& context,
                                              const HloInstruction& reduction) {
  ReductionValues values;
  const int64_t count = ArrayCount(reduction);
  for (int64_t i = 0; i < count; ++i) {
    TF_ASSIGN_OR_RETURN(values.emplace_back(),
                        context.Element(*reduction.operand(count + i), Index()));
  }
  return values;
}

absl::StatusOr<ReductionValues> EmitAccumulate(FusionContext& context,
                                               const HloInstruction& reduction,
                                               const ReductionValues& running,
                                               const ReductionValues& values) {
  switch (NarrowSum(reduction)) {
    case HloOpcode::kAdd:
      return ReductionValues{EmitAdd(running[0], values[0], context.b())};
    case HloOpcode::kMultiply:
      return ReductionValues{EmitMultiply(running[0], values[0], context.b())};
    default: {
      ReductionValues arguments = running;
      arguments.insert(arguments.end(), values.begin(), values.end());
      return context.EmitReducer(*reduction.to_apply(), arguments);
    }
  }
}

ReductionValues NormalizeAccumulators(FusionContext& context, const HloInstruction& reduction,
                                      ReductionValues running) {
  if (NarrowSum(reduction) == HloOpcode::kParameter) return running;
  const xla::PrimitiveType type = reduction.to_apply()->root_instruction()->shape().element_type();
  return {Normalize(running[0], type, context.target(), context.b())};
}

xla::PrimitiveType AccumulatorType(const HloInstruction& reduction, int64_t value) {
  const xla::PrimitiveType type = reduction.operand(value)->shape().element_type();
  return NarrowSum(reduction) == HloOpcode::kParameter ? type : xla::F32;
}

Accumulators::Accumulators(FusionContext& context, const HloInstruction& reduction,
                           const ReductionValues& initial)
    : context_(context), reduction_(reduction) {
  for (Value* value : initial) slots_.push_back(context.Slot(value->getType(), value));
}

absl::Status Accumulators::Add(const ReductionValues& values) {
  TF_ASSIGN_OR_RETURN(const ReductionValues sums,
                      EmitAccumulate(context_, reduction_, Running(), values));
  Set(sums);
  return absl::OkStatus();
}

void Accumulators::Set(const ReductionValues& values) {
  for (size_t i = 0; i < slots_.size(); ++i) context_.b().CreateStore(values[i], slots_[i]);
}

ReductionValues Accumulators::Running() const {
  ReductionValues values;
  for (llvm::AllocaInst* slot : slots_) {
    values.push_back(context_.b().CreateLoad(slot->getAllocatedType(), slot));
  }
  return values;
}

}  // namespace onexpu::compiler
