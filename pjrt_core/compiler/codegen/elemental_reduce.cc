// One element of a reduction or of a reduce-window: a serial loop over what it combines.
#include "llvm/IR/Constants.h"
#include "pjrt_core/compiler/codegen/elemental_emitter.h"
#include "pjrt_core/compiler/codegen/narrow_float.h"
#include "pjrt_core/compiler/codegen/types.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/tsl/platform/statusor.h"
#include "xla/window_util.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;
using xla::HloInstruction;
using xla::HloOpcode;

// The running results of a (variadic) reduction.
class Accumulators {
 public:
  // Operands 0 to n-1 are the arrays, n to 2n-1 their initial values.
  static absl::StatusOr<Accumulators> Create(FusionContext& context,
                                             const HloInstruction& reduction) {
    Accumulators result(context, reduction);
    const int64_t count = reduction.operand_count() / 2;
    for (int64_t i = 0; i < count; ++i) {
      TF_ASSIGN_OR_RETURN(Value * initial, context.Element(*reduction.operand(count + i), Index()));
      result.slots_.push_back(context.Slot(initial->getType(), initial));
    }
    return result;
  }

  // Combines the arrays' elements at `index`.
  absl::Status Add(const Index& index) {
    std::vector<Value*> elements;
    for (size_t i = 0; i < slots_.size(); ++i) {
      TF_ASSIGN_OR_RETURN(elements.emplace_back(), context_.Element(*reduction_.operand(i), index));
    }
    TF_ASSIGN_OR_RETURN(std::vector<Value*> results,
                        EmitAccumulate(context_, reduction_, Running(), elements));
    for (size_t i = 0; i < slots_.size(); ++i) context_.b().CreateStore(results[i], slots_[i]);
    return absl::OkStatus();
  }

  std::vector<Value*> Results() { return NormalizeAccumulators(context_, reduction_, Running()); }

 private:
  std::vector<Value*> Running() {
    std::vector<Value*> values;
    for (llvm::AllocaInst* slot : slots_)
      values.push_back(context_.b().CreateLoad(slot->getAllocatedType(), slot));
    return values;
  }

  Accumulators(FusionContext& context, const HloInstruction& reduction)
      : context_(context), reduction_(reduction) {}

  FusionContext& context_;
  const HloInstruction& reduction_;
  std::vector<llvm::AllocaInst*> slots_;
};

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

absl::StatusOr<std::vector<Value*>> EmitAccumulate(FusionContext& context,
                                                   const HloInstruction& reduction,
                                                   Operands accumulators, Operands elements) {
  switch (NarrowSum(reduction)) {
    case HloOpcode::kAdd:
      return std::vector<Value*>{EmitAdd(accumulators[0], elements[0], context.b())};
    case HloOpcode::kMultiply:
      return std::vector<Value*>{EmitMultiply(accumulators[0], elements[0], context.b())};
    default: {
      std::vector<Value*> arguments(accumulators.begin(), accumulators.end());
      arguments.insert(arguments.end(), elements.begin(), elements.end());
      return context.EmitReducer(*reduction.to_apply(), arguments);
    }
  }
}

xla::PrimitiveType AccumulatorType(const HloInstruction& reduction, int64_t value) {
  const xla::PrimitiveType type = reduction.operand(value)->shape().element_type();
  return NarrowSum(reduction) == HloOpcode::kParameter ? type : xla::F32;
}

std::vector<Value*> NormalizeAccumulators(FusionContext& context, const HloInstruction& reduction,
                                          std::vector<Value*> accumulators) {
  if (NarrowSum(reduction) == HloOpcode::kParameter) return accumulators;
  const xla::PrimitiveType type = reduction.to_apply()->root_instruction()->shape().element_type();
  return {Normalize(accumulators[0], type, context.target(), context.b())};
}

absl::StatusOr<std::vector<Value*>> EmitReduce(FusionContext& context, const HloInstruction& reduce,
                                               const Index& index) {
  const xla::Shape& shape = reduce.operand(0)->shape();
  std::vector<bool> reduced(shape.dimensions().size(), false);
  for (int64_t dimension : reduce.dimensions()) reduced[dimension] = true;
  // The innermost loop runs where memory is contiguous.
  std::vector<int64_t> loops;
  std::vector<int64_t> extents;
  const auto& minor_to_major = shape.layout().minor_to_major();
  for (int64_t i = minor_to_major.size() - 1; i >= 0; --i) {
    if (!reduced[minor_to_major[i]]) continue;
    loops.push_back(minor_to_major[i]);
    extents.push_back(shape.dimensions(minor_to_major[i]));
  }
  std::vector<Value*> values(shape.dimensions().size());
  int64_t kept = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!reduced[i]) values[i] = index[kept++];
  }
  TF_ASSIGN_OR_RETURN(Accumulators accumulators, Accumulators::Create(context, reduce));
  TF_RETURN_IF_ERROR(context.ForEach(extents, [&](absl::Span<Value* const> counters) {
    for (size_t i = 0; i < loops.size(); ++i) values[loops[i]] = counters[i];
    return accumulators.Add(Index(values));
  }));
  return accumulators.Results();
}

absl::StatusOr<std::vector<Value*>> EmitReduceWindow(FusionContext& context,
                                                     const HloInstruction& reduce_window,
                                                     const Index& index) {
  llvm::IRBuilder<>& b = context.b();
  IndexMath& math = context.index_math();
  const xla::Window& window = reduce_window.window();
  const xla::Shape& shape = reduce_window.operand(0)->shape();
  std::vector<int64_t> extents;
  for (const xla::WindowDimension& dimension : window.dimensions())
    extents.push_back(dimension.size());
  TF_ASSIGN_OR_RETURN(Accumulators accumulators, Accumulators::Create(context, reduce_window));
  TF_RETURN_IF_ERROR(
      context.ForEach(extents, [&](absl::Span<Value* const> counters) -> absl::Status {
        Value* inside = b.getTrue();
        std::vector<Value*> values;
        for (size_t i = 0; i < extents.size(); ++i) {
          const xla::WindowDimension& dimension = window.dimensions(i);
          Value* offset = math.Mul(counters[i], dimension.window_dilation());
          Value* position = math.Add(math.Mul(index[i], dimension.stride()), offset);
          position = math.Sub(position, math.Constant(dimension.padding_low()));
          const bool trivial = dimension.size() == 1 && dimension.stride() == 1 &&
                               dimension.padding_low() == 0 && dimension.padding_high() == 0 &&
                               dimension.base_dilation() == 1;
          if (!trivial) {
            const int64_t extent = shape.dimensions(i);
            const int64_t end = extent == 0 ? 0 : (extent - 1) * dimension.base_dilation() + 1;
            inside = b.CreateAnd(inside, b.CreateICmpULT(position, math.Constant(end)));
            if (dimension.base_dilation() != 1) {
              Value* rest = math.Rem(position, dimension.base_dilation());
              inside = b.CreateAnd(inside, b.CreateICmpEQ(rest, math.Constant(0)));
            }
          }
          values.push_back(math.Div(position, dimension.base_dilation()));
        }
        return context.If(inside, [&] { return accumulators.Add(Index(values)); });
      }));
  return accumulators.Results();
}

}  // namespace onexpu::compiler
