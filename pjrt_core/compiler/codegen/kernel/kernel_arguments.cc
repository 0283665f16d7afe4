#include "pjrt_core/compiler/codegen/kernel/kernel_arguments.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
namespace {

using Slice = xla::BufferAllocation::Slice;

// Adds the slices of `instruction`'s array leaves to `arguments`, each distinct one once. Other
// leaves (tokens) have none.
absl::StatusOr<std::vector<KernelArguments::Leaf>> AddLeaves(
    const xla::HloInstruction& instruction, const xla::BufferAssignment& assignment, bool written,
    std::vector<KernelArguments::Argument>& arguments) {
  std::vector<KernelArguments::Leaf> leaves;
  TF_RETURN_IF_ERROR(xla::ShapeUtil::ForEachSubshapeWithStatus(
      instruction.shape(),
      [&](const xla::Shape& shape, const xla::ShapeIndex& index) -> absl::Status {
        if (shape.IsTuple()) return absl::OkStatus();
        if (!shape.IsArray()) {
          leaves.push_back({shape, -1});
          return absl::OkStatus();
        }
        TF_ASSIGN_OR_RETURN(Slice slice, assignment.GetUniqueSlice(&instruction, index));
        size_t number = 0;
        while (number < arguments.size() && !(arguments[number].slice == slice)) ++number;
        if (number == arguments.size()) arguments.push_back({slice});
        arguments[number].written |= written;
        leaves.push_back({shape, static_cast<int64_t>(number)});
        return absl::OkStatus();
      }));
  return leaves;
}

}  // namespace

int64_t MaxKernelArguments(const Target& target) {
  return std::min(target.schedules->max_kernel_arguments, target.device->max_kernel_arguments);
}

absl::StatusOr<KernelArguments> KernelArguments::Create(const xla::HloInstruction& instruction,
                                                        const xla::BufferAssignment& assignment) {
  KernelArguments result;
  for (const xla::HloInstruction* operand : instruction.operands()) {
    TF_ASSIGN_OR_RETURN(result.operands_.emplace_back(),
                        AddLeaves(*operand, assignment, false, result.arguments_));
  }
  TF_ASSIGN_OR_RETURN(result.results_, AddLeaves(instruction, assignment, true, result.arguments_));
  for (size_t i = 0; i < result.arguments_.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (!result.arguments_[i].slice.OverlapsWith(result.arguments_[k].slice)) continue;
      result.arguments_[i].overlaps_none = false;
      result.arguments_[k].overlaps_none = false;
    }
  }
  return result;
}

std::string KernelArguments::Signature() const {
  std::string signature;
  for (const Argument& argument : arguments_) {
    absl::StrAppend(&signature, argument.written ? "w" : "r", argument.overlaps_none ? "" : "o");
  }
  auto add_leaves = [&](const std::vector<Leaf>& leaves) {
    for (const Leaf& leaf : leaves) absl::StrAppend(&signature, ",", leaf.argument);
  };
  for (const std::vector<Leaf>& leaves : operands_) {
    absl::StrAppend(&signature, ";");
    add_leaves(leaves);
  }
  absl::StrAppend(&signature, "->");
  add_leaves(results_);
  return signature;
}

}  // namespace onexpu::compiler
