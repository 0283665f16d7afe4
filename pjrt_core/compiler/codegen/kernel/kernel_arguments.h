// What a kernel is given: the distinct buffer slices of an instruction's operands and results, and
// what may be said about them (read only, not overlapping). Immutable; thread-compatible.
#ifndef PJRT_CORE_COMPILER_CODEGEN_KERNEL_KERNEL_ARGUMENTS_H_
#define PJRT_CORE_COMPILER_CODEGEN_KERNEL_KERNEL_ARGUMENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pjrt_core/compiler/target/target.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/service/buffer_assignment.h"

namespace onexpu::compiler {

// The maximum number of pointer arguments of a kernel for the target.
int64_t MaxKernelArguments(const Target& target);

class KernelArguments {
 public:
  struct Leaf {
    xla::Shape shape;
    int64_t argument;  // index into slices()
  };
  struct Argument {
    xla::BufferAllocation::Slice slice;
    bool written = false;
    bool overlaps_none = true;  // with another argument
  };

  static absl::StatusOr<KernelArguments> Create(const xla::HloInstruction& instruction,
                                                const xla::BufferAssignment& assignment);

  const std::vector<Argument>& arguments() const { return arguments_; }
  // Per operand, its flattened array leaves.
  const std::vector<std::vector<Leaf>>& operands() const { return operands_; }
  // The flattened array leaves of the result.
  const std::vector<Leaf>& results() const { return results_; }
  // True when both stand for the same memory.
  bool Same(const Leaf& a, const Leaf& b) const { return a.argument == b.argument; }
  // Equal strings: kernels written for one may be launched for the other.
  std::string Signature() const;

 private:
  std::vector<Argument> arguments_;
  std::vector<std::vector<Leaf>> operands_;
  std::vector<Leaf> results_;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_KERNEL_KERNEL_ARGUMENTS_H_
