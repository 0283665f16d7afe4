#include "pjrt_core/compiler/codegen/region/region_memory.h"

#include "absl/algorithm/container.h"
#include "pjrt_core/compiler/analysis/hlo_queries.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
namespace {

using Slices = std::vector<RegionMemory::Slice>;

bool Overlap(const Slices& some, const Slices& others) {
  return absl::c_any_of(some, [&](const auto& slice) {
    return absl::c_any_of(others, [&](const auto& other) { return slice.OverlapsWith(other); });
  });
}

bool IsControlFlow(const xla::HloInstruction& instruction) {
  switch (instruction.opcode()) {
    case xla::HloOpcode::kWhile:
    case xla::HloOpcode::kConditional:
    case xla::HloOpcode::kCall:
      return true;
    default:
      return false;
  }
}

}  // namespace

absl::StatusOr<Slices> RegionMemory::Slices(const xla::HloInstruction& instruction) const {
  std::vector<Slice> slices;
  TF_RETURN_IF_ERROR(xla::ShapeUtil::ForEachSubshapeWithStatus(
      instruction.shape(),
      [&](const xla::Shape& shape, const xla::ShapeIndex& index) -> absl::Status {
        if (!shape.IsArray()) return absl::OkStatus();
        TF_ASSIGN_OR_RETURN(slices.emplace_back(), assignment_.GetUniqueSlice(&instruction, index));
        return absl::OkStatus();
      }));
  return slices;
}

absl::Status RegionMemory::AddSlices(const xla::HloInstruction& instruction) {
  TF_ASSIGN_OR_RETURN(const std::vector<Slice> slices, Slices(instruction));
  for (const Slice& slice : slices) {
    if (!absl::c_linear_search(allocations_, slice.allocation()))
      allocations_.push_back(slice.allocation());
  }
  return absl::OkStatus();
}

absl::Status RegionMemory::CollectComputation(const xla::HloComputation& computation) {
  for (const xla::HloInstruction* instruction : computation.instructions()) {
    if (!IsFree(*instruction)) TF_RETURN_IF_ERROR(Collect(*instruction));
  }
  // A root that is free may be all that is read: a condition that is a constant, for instance.
  return AddSlices(*computation.root_instruction());
}

absl::Status RegionMemory::Collect(const xla::HloInstruction& instruction) {
  TF_RETURN_IF_ERROR(AddSlices(instruction));
  for (const xla::HloInstruction* operand : instruction.operands())
    TF_RETURN_IF_ERROR(AddSlices(*operand));
  if (!IsControlFlow(instruction)) return absl::OkStatus();
  for (const xla::HloComputation* called : instruction.called_computations()) {
    TF_RETURN_IF_ERROR(CollectComputation(*called));
  }
  return absl::OkStatus();
}

std::vector<KernelArgument> RegionMemory::Arguments() const {
  std::vector<KernelArgument> arguments;
  for (const xla::BufferAllocation* allocation : allocations_) {
    arguments.emplace_back().slice = Slice(allocation, 0, allocation->size());
  }
  return arguments;
}

absl::StatusOr<std::vector<Array>> RegionMemory::Arrays(const xla::HloInstruction& instruction,
                                                        FusionContext& kernel) {
  TF_ASSIGN_OR_RETURN(const std::vector<Slice> slices, Slices(instruction));
  // In the entry block, where every use can see it; the optimiser joins equal ones.
  llvm::BasicBlock& entry = kernel.kernel().getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  std::vector<Array> arrays;
  size_t next = 0;
  xla::ShapeUtil::ForEachSubshape(instruction.shape(), [&](const xla::Shape& shape,
                                                           const xla::ShapeIndex&) {
    if (shape.IsTuple()) return;
    if (!shape.IsArray()) {
      arrays.push_back({shape, nullptr});
      return;
    }
    const Slice& slice = slices[next++];
    const int64_t number = absl::c_find(allocations_, slice.allocation()) - allocations_.begin();
    llvm::Value* base = kernel.kernel().getArg(number);
    arrays.push_back({shape, slice.offset() == 0
                                 ? base
                                 : at_entry.CreateConstInBoundsGEP1_64(at_entry.getInt8Ty(), base,
                                                                       slice.offset())});
  });
  return arrays;
}

bool PendingAccesses::Conflict(const std::vector<Slice>& reads,
                               const std::vector<Slice>& writes) const {
  return Overlap(reads, writes_) || Overlap(writes, writes_) || Overlap(writes, reads_);
}

void PendingAccesses::Add(const std::vector<Slice>& reads, const std::vector<Slice>& writes) {
  reads_.insert(reads_.end(), reads.begin(), reads.end());
  writes_.insert(writes_.end(), writes.begin(), writes.end());
}

void PendingAccesses::Clear() {
  reads_.clear();
  writes_.clear();
}

}  // namespace onexpu::compiler
