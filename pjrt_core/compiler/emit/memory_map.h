// The Program's allocations, and where each HLO value lies in them.
//
// One XLA allocation becomes one allocation of the Program, but equal constants share one, tables
// of tuple pointers have none, and a result that lies where a caller could not own it gets a fresh
// allocation and a copy. Owned by one compile; thread-compatible.
#ifndef PJRT_CORE_COMPILER_EMIT_MEMORY_MAP_H_
#define PJRT_CORE_COMPILER_EMIT_MEMORY_MAP_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/compiler/codegen/kernel_launch.h"
#include "pjrt_core/program/program_generated.h"
#include "pjrt_core/program/writer.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/service/buffer_assignment.h"
#include "xla/shape.h"

namespace onexpu::compiler {

// A shape of the Program's; row-major layouts are left out.
std::unique_ptr<program::ShapeT> MakeShape(const xla::Shape& shape);

class MemoryMap {
 public:
  struct Copy {
    program::Slice source;
    program::Slice destination;
  };

  // Fills the allocations, parameters and results of `program`.
  static absl::StatusOr<MemoryMap> Create(const xla::HloModule& module,
                                          const xla::BufferAssignment& assignment,
                                          program::Writer& writer, program::ProgramT& program);

  program::Slice Convert(const xla::BufferAllocation::Slice& slice) const;
  absl::StatusOr<program::Slice> SliceOf(const xla::HloInstruction& instruction,
                                         const xla::ShapeIndex& index = {}) const;
  // Memory that only one kernel knows; the same id is the same memory.
  program::Slice ScratchSlice(const Scratch& scratch, bool is_state);

  // What remains to be done at the end of the program.
  const std::vector<Copy>& result_copies() const { return result_copies_; }

 private:
  MemoryMap(const xla::HloModule& module, const xla::BufferAssignment& assignment,
            program::Writer& writer, program::ProgramT& program)
      : module_(module), assignment_(assignment), writer_(writer), program_(program) {}

  uint32_t AddAllocation(program::AllocationKind kind, uint64_t size);
  absl::Status AddParameters();
  absl::Status AddConstant(const xla::BufferAllocation& allocation);
  absl::Status AddAllocations();
  absl::Status AddResults();
  absl::Status AddResult(const xla::Shape& shape, const xla::ShapeIndex& index);

  const xla::HloModule& module_;
  const xla::BufferAssignment& assignment_;
  program::Writer& writer_;
  program::ProgramT& program_;

  // By XLA's index; thread-local allocations have none.
  absl::flat_hash_map<int64_t, uint32_t> allocations_;
  std::map<std::pair<uint64_t, uint64_t>, uint32_t> constants_;  // by blob
  absl::flat_hash_map<int64_t, uint32_t> scratch_;
  std::vector<Copy> result_copies_;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_EMIT_MEMORY_MAP_H_
