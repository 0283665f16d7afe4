#include "pjrt_core/compiler/emit/memory_map.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "pjrt_core/base/status_macros.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_input_output_alias_config.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/layout_util.h"
#include "xla/literal.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

using program::AllocationKind;

uint64_t ArrayBytes(const xla::Shape& shape) {
  return shape.IsArray() ? xla::ShapeUtil::ByteSizeOf(shape) : 0;
}

const xla::HloInstruction* ConstantIn(const xla::BufferAllocation& allocation) {
  for (const auto& [value, range] : allocation.assigned_buffers()) {
    if (value->instruction()->opcode() == xla::HloOpcode::kConstant) return value->instruction();
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<program::ShapeT> MakeShape(const xla::Shape& shape) {
  auto result = std::make_unique<program::ShapeT>();
  result->element_type = static_cast<program::ElementType>(shape.element_type());
  if (!shape.IsArray()) return result;
  result->dimensions.assign(shape.dimensions().begin(), shape.dimensions().end());
  if (xla::LayoutUtil::HasLayout(shape) &&
      !xla::LayoutUtil::IsMonotonicWithDim0Major(shape.layout())) {
    const auto order = shape.layout().minor_to_major();
    result->minor_to_major.assign(order.begin(), order.end());
  }
  return result;
}

absl::StatusOr<MemoryMap> MemoryMap::Create(const xla::HloModule& module,
                                            const xla::BufferAssignment& assignment,
                                            program::Writer& writer, program::ProgramT& program) {
  MemoryMap map(module, assignment, writer, program);
  ONEXPU_RETURN_IF_ERROR(map.AddParameters());
  ONEXPU_RETURN_IF_ERROR(map.AddAllocations());
  ONEXPU_RETURN_IF_ERROR(map.AddResults());
  return map;
}

uint32_t MemoryMap::AddAllocation(AllocationKind kind, uint64_t size) {
  auto allocation = std::make_unique<program::AllocationT>();
  allocation->kind = kind;
  allocation->size = size;
  program_.allocations.push_back(std::move(allocation));
  return program_.allocations.size() - 1;
}

// Every leaf has an allocation, also one that nothing reads.
absl::Status MemoryMap::AddParameters() {
  const xla::HloComputation& entry = *module_.entry_computation();
  for (const xla::HloInstruction* instruction : entry.parameter_instructions()) {
    for (const auto& leaf : xla::ShapeUtil::GetLeafShapes(instruction->shape())) {
      const uint32_t number = program_.parameters.size();
      const uint32_t index = AddAllocation(AllocationKind::Parameter, ArrayBytes(leaf.shape));
      program_.allocations[index]->parameter = number;
      auto parameter = std::make_unique<program::ParameterT>();
      parameter->shape = MakeShape(leaf.shape);
      parameter->slice =
          std::make_unique<program::Slice>(index, 0, program_.allocations[index]->size);
      parameter->name = instruction->name();
      program_.parameters.push_back(std::move(parameter));
      if (!assignment_.HasAllocationAt(instruction, leaf.index)) continue;
      ONEXPU_ASSIGN_OR_RETURN(const auto slice,
                              assignment_.GetUniqueSlice(instruction, leaf.index));
      if (slice.offset() != 0 ||
          slice.allocation()->size() != static_cast<int64_t>(program_.allocations[index]->size)) {
        return absl::InternalError(
            absl::StrCat("onexpu: argument ", number, " does not fill its allocation"));
      }
      allocations_[slice.index()] = index;
    }
  }
  return absl::OkStatus();
}

absl::Status MemoryMap::AddConstant(const xla::BufferAllocation& allocation) {
  const xla::HloInstruction* instruction = ConstantIn(allocation);
  if (instruction == nullptr) {
    return absl::InternalError("onexpu: a constant allocation without a constant");
  }
  const xla::Literal& literal = instruction->literal();
  if (literal.size_bytes() != allocation.size() ||
      !xla::LayoutUtil::LayoutsInShapesEqual(literal.shape(), instruction->shape())) {
    return absl::InternalError(absl::StrCat("onexpu: constant %", instruction->name(),
                                            " differs from its shape in layout or size"));
  }
  const auto* bytes = static_cast<const uint8_t*>(literal.untyped_data());
  const program::Blob blob = writer_.AddBorrowedBlob(
      absl::MakeConstSpan(bytes, static_cast<size_t>(literal.size_bytes())));
  const auto [known, inserted] = constants_.try_emplace({blob.offset(), blob.size()}, 0);
  if (inserted) {
    known->second = AddAllocation(AllocationKind::Constant, blob.size());
    program_.allocations[known->second]->constant = std::make_unique<program::Blob>(blob);
  }
  allocations_[allocation.index()] = known->second;
  return absl::OkStatus();
}

absl::Status MemoryMap::AddAllocations() {
  for (const xla::BufferAllocation& allocation : assignment_.Allocations()) {
    if (allocation.is_thread_local() || allocations_.contains(allocation.index())) continue;
    if (allocation.is_constant()) {
      ONEXPU_RETURN_IF_ERROR(AddConstant(allocation));
      continue;
    }
    allocations_[allocation.index()] = AddAllocation(AllocationKind::Temporary, allocation.size());
  }
  return absl::OkStatus();
}

absl::Status MemoryMap::AddResults() {
  const xla::Shape& shape = module_.result_shape();
  for (const auto& leaf : xla::ShapeUtil::GetLeafShapes(shape)) {
    ONEXPU_RETURN_IF_ERROR(AddResult(leaf.shape, leaf.index));
  }
  return absl::OkStatus();
}

absl::Status MemoryMap::AddResult(const xla::Shape& shape, const xla::ShapeIndex& index) {
  ONEXPU_ASSIGN_OR_RETURN(const program::Slice slice,
                          SliceOf(*module_.entry_computation()->root_instruction(), index));
  auto result = std::make_unique<program::ResultT>();
  result->shape = MakeShape(shape);
  program::AllocationT& allocation = *program_.allocations[slice.allocation()];
  const auto alias = module_.input_output_alias_config().GetAliasedParameter(index);

  if (allocation.kind == AllocationKind::Parameter && alias.has_value()) {
    result->alias_kind = alias->must_alias() ? program::AliasKind::Must : program::AliasKind::May;
    result->alias_parameter = allocation.parameter;
    result->slice = std::make_unique<program::Slice>(slice);
  } else if (allocation.kind == AllocationKind::Temporary && slice.offset() == 0 &&
             allocation.size == ArrayBytes(shape)) {
    allocation.kind = AllocationKind::Result;
    result->slice = std::make_unique<program::Slice>(slice);
  } else {
    const uint64_t bytes = ArrayBytes(shape);
    const program::Slice fresh(AddAllocation(AllocationKind::Result, bytes), 0, bytes);
    result_copies_.push_back({program::Slice(slice.allocation(), slice.offset(), bytes), fresh});
    result->slice = std::make_unique<program::Slice>(fresh);
  }
  program_.results.push_back(std::move(result));
  return absl::OkStatus();
}

program::Slice MemoryMap::Convert(const xla::BufferAllocation::Slice& slice) const {
  return program::Slice(allocations_.at(slice.index()), slice.offset(), slice.size());
}

absl::StatusOr<program::Slice> MemoryMap::SliceOf(const xla::HloInstruction& instruction,
                                                  const xla::ShapeIndex& index) const {
  ONEXPU_ASSIGN_OR_RETURN(const auto slice, assignment_.GetUniqueSlice(&instruction, index));
  const auto known = allocations_.find(slice.index());
  if (known == allocations_.end()) {
    return absl::InternalError(
        absl::StrCat("onexpu: %", instruction.name(), " lies in no memory of the program"));
  }
  return program::Slice(known->second, slice.offset(), slice.size());
}

program::Slice MemoryMap::ScratchSlice(const Scratch& scratch, bool is_state) {
  const auto [known, inserted] = scratch_.try_emplace(scratch.id, 0);
  if (inserted) {
    known->second =
        AddAllocation(is_state ? AllocationKind::State : AllocationKind::Temporary, scratch.bytes);
  }
  return program::Slice(known->second, 0, scratch.bytes);
}

}  // namespace onexpu::compiler
