// What executing a Program takes, worked out once when it is loaded: shapes to check, where each
// allocation comes from, which results take over an argument's memory.
//
// Immutable value; any thread.
#ifndef PJRT_CORE_RUNTIME_PROGRAM_PROGRAM_PLAN_H_
#define PJRT_CORE_RUNTIME_PROGRAM_PROGRAM_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pjrt_core/device/device.h"
#include "pjrt_core/program/program_generated.h"
#include "pjrt_core/runtime/buffer/buffer.h"

namespace onexpu {

ArrayShape ToArrayShape(const program::Shape& shape);

// On GPUs oneDNN accepts f16 and bf16 operands at other addresses, and computes wrong numbers.
inline constexpr size_t kDnnlAlignment = 64;

struct ProgramPlan {
  struct Allocation {
    program::AllocationKind kind;
    size_t size;
    MemoryKind memory_kind = MemoryKind::kDevice;  // of results
    size_t element_bytes = 0;                      // of results
    size_t block = 0;                              // of temporaries, or of constants
    size_t offset = 0;                             // in that block
    int parameter = -1;                            // of Parameter
    bool is_written = false;                       // of Parameter: a result takes over its memory
  };
  // What a parameter of a resizable Program is to a result.
  enum class Extent { kWhole, kRow, kColumn, kElement };
  struct Parameter {
    ArrayShape shape;
    uint32_t allocation;
    size_t bytes;
    Extent extent = Extent::kWhole;
    bool needs_alignment = false;  // its address must be a multiple of kDnnlAlignment
  };
  struct Result {
    ArrayShape shape;
    MemoryKind memory_kind;
    uint32_t allocation;  // its own, or the parameter's that it takes over
  };

  // A block holds up to `max_block_bytes`, or one larger allocation.
  static ProgramPlan Create(const program::Program& program, size_t max_block_bytes);

  // The size of the largest allocation, in bytes.
  size_t LargestAllocation() const;

  std::vector<Parameter> parameters;
  std::vector<Result> results;
  std::vector<Allocation> allocations;
  std::vector<size_t> temporary_blocks;  // their sizes in bytes
  std::vector<size_t> constant_blocks;
  bool is_resizable = false;
  int64_t estimated_nanoseconds = 0;
};

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_PROGRAM_PROGRAM_PLAN_H_
