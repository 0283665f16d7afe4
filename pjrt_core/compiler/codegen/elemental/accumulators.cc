#include "pjrt_core/compiler/codegen/elemental/accumulators.h"

#include "pjrt_core/compiler/codegen/elemental/elemental_emitter.h"
#include "pjrt_core/compiler/codegen/elemental/types.h"
#include "pjrt_core/compiler/codegen/elemental/wide_sum.h"
#include "pjrt_core/compiler/codegen/math/narrow_float.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;
using xla::HloInstruction;
using xla::HloOpcode;

// Operands 0 to n-1 are the arrays, n to 2n-1 their initial values.
int64_t ArrayCount(const HloInstruction& reduction) { return reduction.operand_count() / 2; }

// How the reducer combines array number `value`: kAdd if it only adds two floats, kMultiply if it
// only multiplies two narrow floats, kParameter if it does anything else.
HloOpcode CombinerOf(const HloInstruction& reduction, int64_t value) {
  const HloInstruction* root = reduction.to_apply()->root_instruction();
  const int64_t count = ArrayCount(reduction);
  if (root->opcode() == HloOpcode::kTuple) root = root->operand(value);
  const xla::PrimitiveType type = root->shape().element_type();
  const bool adds = root->opcode() == HloOpcode::kAdd &&
                    (xla::primitive_util::IsFloatingPointType(type) || IsComplexType(type));
  const bool multiplies = root->opcode() == HloOpcode::kMultiply && IsNarrowFloat(type);
  if (!adds && !multiplies) return HloOpcode::kParameter;
  const auto is_parameter = [&](int64_t operand, int64_t number) {
    const HloInstruction& parameter = *root->operand(operand);
    return parameter.opcode() == HloOpcode::kParameter && parameter.parameter_number() == number;
  };
  const bool of_arguments = (is_parameter(0, value) && is_parameter(1, count + value)) ||
                            (is_parameter(1, value) && is_parameter(0, count + value));
  return of_arguments ? root->opcode() : HloOpcode::kParameter;
}

// Elements that are combined into a result.
int64_t Terms(const HloInstruction& reduction) {
  int64_t terms = 1;
  if (reduction.opcode() == HloOpcode::kReduceWindow) {
    for (const xla::WindowDimension& dimension : reduction.window().dimensions()) {
      terms *= dimension.size();
    }
    return terms;
  }
  for (const int64_t dimension : reduction.dimensions()) {
    terms *= reduction.operand(0)->shape().dimensions(dimension);
  }
  return terms;
}

WideSum SumOf(const HloInstruction& reduction, int64_t value, const Target& target) {
  return WideSum(reduction.operand(value)->shape().element_type(), target);
}

// Whether the running result number `value` is a wide sum.
bool IsWideSum(const HloInstruction& reduction, int64_t value, int64_t parts,
               const Target& target) {
  return CombinerOf(reduction, value) == HloOpcode::kAdd &&
         Terms(reduction) >= WideSum::kMinWideAdditions * parts &&
         SumOf(reduction, value, target).has_wide();
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
  ReductionValues results(running.size(), nullptr);
  bool needs_reducer = false;
  for (size_t i = 0; i < results.size(); ++i) {
    switch (CombinerOf(reduction, i)) {
      case HloOpcode::kAdd:
        results[i] = SumOf(reduction, i, context.target()).Add(running[i], values[i], context.b());
        break;
      case HloOpcode::kMultiply:
        results[i] = EmitMultiply(running[i], values[i], context.b());
        break;
      default:
        needs_reducer = true;
    }
  }
  if (!needs_reducer) return results;
  ReductionValues arguments = NormalizeAccumulators(context, reduction, running);
  const ReductionValues others = NormalizeAccumulators(context, reduction, values);
  arguments.insert(arguments.end(), others.begin(), others.end());
  TF_ASSIGN_OR_RETURN(const ReductionValues reduced,
                      context.EmitReducer(*reduction.to_apply(), arguments));
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i] == nullptr) results[i] = reduced[i];
  }
  return results;
}

std::optional<ReductionValues> IdentityOfSums(FusionContext& context,
                                              const HloInstruction& reduction) {
  ReductionValues values;
  for (int64_t i = 0; i < ArrayCount(reduction); ++i) {
    if (CombinerOf(reduction, i) != HloOpcode::kAdd) return std::nullopt;
    values.push_back(SumOf(reduction, i, context.target()).NegativeZero(context.b()));
  }
  return values;
}

ReductionValues WidenAccumulators(FusionContext& context, const HloInstruction& reduction,
                                  ReductionValues values, int64_t parts) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!IsWideSum(reduction, i, parts, context.target())) continue;
    values[i] = SumOf(reduction, i, context.target()).Widen(values[i], context.b());
  }
  return values;
}

ReductionValues NormalizeAccumulators(FusionContext& context, const HloInstruction& reduction,
                                      ReductionValues running) {
  for (size_t i = 0; i < running.size(); ++i) {
    const HloOpcode combiner = CombinerOf(reduction, i);
    if (combiner == HloOpcode::kParameter) continue;
    if (combiner == HloOpcode::kAdd) {
      running[i] = SumOf(reduction, i, context.target()).Narrow(running[i], context.b());
    }
    running[i] = Normalize(running[i], reduction.operand(i)->shape().element_type(),
                           context.target(), context.b());
  }
  return running;
}

xla::PrimitiveType AccumulatorType(const HloInstruction& reduction, int64_t value, int64_t parts,
                                   const Target& target) {
  if (IsWideSum(reduction, value, parts, target)) {
    return SumOf(reduction, value, target).wide_type();
  }
  const xla::PrimitiveType type = reduction.operand(value)->shape().element_type();
  return CombinerOf(reduction, value) != HloOpcode::kParameter && IsNarrowFloat(type) ? xla::F32
                                                                                      : type;
}

bool AddsFloats(const HloInstruction& reduction) {
  for (int64_t i = 0; i < ArrayCount(reduction); ++i) {
    if (CombinerOf(reduction, i) == HloOpcode::kAdd) return true;
  }
  return false;
}

Accumulators::Accumulators(FusionContext& context, const HloInstruction& reduction,
                           const ReductionValues& initial, int64_t parts)
    : context_(context), reduction_(reduction) {
  for (Value* value : WidenAccumulators(context, reduction, initial, parts)) {
    slots_.push_back(context.Slot(value->getType(), value));
  }
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
