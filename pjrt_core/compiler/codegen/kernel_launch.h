// A launch of an emitted kernel: its module, entry point, launch dimensions and arguments.
#ifndef PJRT_CORE_COMPILER_CODEGEN_KERNEL_LAUNCH_H_
#define PJRT_CORE_COMPILER_CODEGEN_KERNEL_LAUNCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "xla/service/buffer_assignment.h"

namespace onexpu::compiler {

// Scratch that a kernel needs beyond the buffer assignment (e.g. a sort's ping-pong buffer); emit/
// appends it to the Program's temporaries. `id` is unique per module; the same id is the same
// memory.
struct Scratch {
  int64_t id = -1;
  int64_t bytes = 0;
};

struct KernelArgument {
  xla::BufferAllocation::Slice slice;  // unset when `scratch` is used
  Scratch scratch;
  bool is_state = false;  // `scratch` lives as long as the loaded Program, zero-initialised
};

struct KernelLaunch {
  int64_t module = 0;  // of those that Finish gives
  std::string entry_point;
  absl::InlinedVector<uint64_t, 3> global_size;  // SYCL's order, slowest first
  absl::InlinedVector<uint64_t, 3> local_size;   // same rank, divides global_size
  std::vector<KernelArgument> arguments;
  bool takes_extents = false;  // as two more arguments (program.fbs)
  // Of a region that is a loop: a launch takes some of its steps, and further ones go on until the
  // loop's condition is false.
  bool is_part_of_loop = false;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_KERNEL_LAUNCH_H_
