// The memory of a region: which allocations its kernel is given, where each array lies in them, and
// which accesses have to be kept apart by a barrier. Belongs to one region that is being written;
// thread-compatible.
#ifndef PJRT_CORE_COMPILER_CODEGEN_REGION_REGION_MEMORY_H_
#define PJRT_CORE_COMPILER_CODEGEN_REGION_REGION_MEMORY_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/compiler/codegen/elemental/fusion_context.h"
#include "pjrt_core/compiler/codegen/kernel_launch.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/service/buffer_assignment.h"

namespace onexpu::compiler {

class RegionMemory {
 public:
  using Slice = xla::BufferAllocation::Slice;

  explicit RegionMemory(const xla::BufferAssignment& assignment) : assignment_(assignment) {}

  // Adds every allocation that `instruction` or anything that it calls reads or writes.
  absl::Status Collect(const xla::HloInstruction& instruction);

  // One argument per allocation, whole: allocations do not overlap, so the arguments never do.
  std::vector<KernelArgument> Arguments() const;
  int64_t argument_count() const { return allocations_.size(); }

  absl::StatusOr<std::vector<Slice>> Slices(const xla::HloInstruction& instruction) const;
  // The arrays of the instruction's value in the kernel's arguments. To be asked for in the entry
  // block first.
  absl::StatusOr<std::vector<Array>> Arrays(const xla::HloInstruction& instruction,
                                            FusionContext& kernel);

 private:
  absl::Status CollectComputation(const xla::HloComputation& computation);
  absl::Status AddSlices(const xla::HloInstruction& instruction);

  const xla::BufferAssignment& assignment_;
  std::vector<const xla::BufferAllocation*> allocations_;
};

// Accesses since the last barrier.
class PendingAccesses {
 public:
  using Slice = RegionMemory::Slice;

  bool empty() const { return reads_.empty() && writes_.empty(); }
  // Whether work that reads and writes these has to wait for what is pending.
  bool Conflict(const std::vector<Slice>& reads, const std::vector<Slice>& writes) const;
  void Add(const std::vector<Slice>& reads, const std::vector<Slice>& writes);
  void Clear();

 private:
  std::vector<Slice> reads_;
  std::vector<Slice> writes_;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_REGION_REGION_MEMORY_H_
