#include <vector>

#include "pjrt_core/compiler/codegen/schedules/schedules.h"
#include "xla/layout_util.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;

// Copies element `id` of the operands first to last - 1, numbered one operand after the other;
// halves the range by branches that work-groups take as a whole.
absl::Status EmitOperands(FusionContext& kernel, Value* id,
                          const std::vector<int64_t>& first_element,
                          const std::vector<int64_t>& first_position, int64_t first, int64_t last) {
  llvm::IRBuilder<>& b = kernel.b();
  const xla::HloInstruction& concatenate = kernel.root();
  if (last - first > 1) {
    const int64_t middle = (first + last) / 2;
    return kernel.IfElse(
        b.CreateICmpULT(id, b.getInt64(first_element[middle])),
        [&] { return EmitOperands(kernel, id, first_element, first_position, first, middle); },
        [&] { return EmitOperands(kernel, id, first_element, first_position, middle, last); });
  }
  const xla::HloInstruction& operand = *concatenate.operand(first);
  if (xla::ShapeUtil::IsZeroElementArray(operand.shape())) return absl::OkStatus();
  IndexMath& math = kernel.index_math();
  xla::Shape shape = operand.shape();
  *shape.mutable_layout() = kernel.results()[0].shape.layout();
  const Index index = math.Delinearize(b.CreateNSWSub(id, b.getInt64(first_element[first])), shape);
  TF_ASSIGN_OR_RETURN(Value * value, kernel.Element(operand, index));
  std::vector<Value*> position = index.values();
  const int64_t dimension = concatenate.concatenate_dimension();
  position[dimension] = math.Add(position[dimension], first_position[first]);
  return kernel.Store(0, Index(std::move(position)), value);
}

}  // namespace

absl::StatusOr<LaunchDimensions> EmitConcatenate(FusionContext& kernel) {
  const xla::HloInstruction& concatenate = kernel.root();
  std::vector<int64_t> first_element = {0};
  std::vector<int64_t> first_position = {0};
  for (const xla::HloInstruction* operand : concatenate.operands()) {
    first_element.push_back(first_element.back() + xla::ShapeUtil::ElementsIn(operand->shape()));
    first_position.push_back(first_position.back() +
                             operand->shape().dimensions(concatenate.concatenate_dimension()));
  }
  return kernel.PerWorkItem(first_element.back(), WorkItemCost::kElement, [&](Value* id) {
    return EmitOperands(kernel, id, first_element, first_position, 0, concatenate.operand_count());
  });
}

}  // namespace onexpu::compiler
