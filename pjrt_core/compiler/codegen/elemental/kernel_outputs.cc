#include "pjrt_core/compiler/codegen/elemental/kernel_outputs.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "llvm/IR/Instructions.h"
#include "pjrt_core/compiler/codegen/elemental/elemental_emitter.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;
using xla::HloInstruction;
using xla::HloOpcode;

// Addresses are made anew for each array: compares what they are made of.
bool IsSameAddress(Value* a, Value* b) {
  if (a == b) return true;
  const auto* x = llvm::dyn_cast<llvm::GetElementPtrInst>(a);
  const auto* y = llvm::dyn_cast<llvm::GetElementPtrInst>(b);
  return x != nullptr && y != nullptr && x->isIdenticalTo(y);
}

}  // namespace

std::vector<Output> OutputsOf(const HloInstruction& root, absl::Span<const Array> results) {
  std::vector<Output> outputs;
  const auto add = [&](const HloInstruction& instruction) {
    int64_t leaf = 0;
    xla::ShapeUtil::ForEachSubshape(
        instruction.shape(), [&](const xla::Shape& shape, const xla::ShapeIndex&) {
          if (!shape.IsTuple()) outputs.push_back({&instruction, leaf++, &results[outputs.size()]});
        });
  };
  if (root.opcode() == HloOpcode::kTuple) {
    for (const HloInstruction* operand : root.operands()) add(*operand);
  } else {
    add(root);
  }
  return outputs;
}

bool IsInMemoryOf(const FusionContext& kernel, const HloInstruction& operand, const Array& result) {
  const Array* array = kernel.FindArray(operand);
  return array != nullptr && IsSameAddress(array->pointer, result.pointer);
}

bool UpdatesInPlace(const FusionContext& kernel, const Output& output) {
  return output.instruction->opcode() == HloOpcode::kDynamicUpdateSlice &&
         IsInMemoryOf(kernel, *output.instruction->operand(0), *output.array);
}

absl::Status StoreElements(FusionContext& kernel, absl::Span<const Output> outputs,
                           const Index& index) {
  // Everything is read before anything is written: a result may be an operand's memory.
  std::vector<Value*> values;
  for (const Output& output : outputs) {
    TF_ASSIGN_OR_RETURN(std::vector<Value*> leaves, kernel.Elements(*output.instruction, index));
    values.push_back(leaves[output.leaf]);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    TF_RETURN_IF_ERROR(kernel.Store(*outputs[i].array, index, values[i]));
  }
  return absl::OkStatus();
}

absl::Status StoreUpdate(FusionContext& kernel, const Output& output, const Index& index) {
  const HloInstruction& slice = *output.instruction;
  const HloInstruction& update = *slice.operand(1);
  TF_ASSIGN_OR_RETURN(std::vector<Value*> position,
                      EmitClampedStarts(kernel, slice, 2, slice.shape(), update.shape()));
  TF_ASSIGN_OR_RETURN(Value * value, kernel.Element(update, index));
  for (int64_t i = 0; i < index.size(); ++i) {
    position[i] = kernel.index_math().Add(position[i], index[i]);
  }
  return kernel.Store(*output.array, Index(std::move(position)), value);
}

}  // namespace onexpu::compiler
