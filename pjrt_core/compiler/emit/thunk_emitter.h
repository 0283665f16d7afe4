// Walks the schedule of a module and writes the thunk tree. Kernels come from KernelCodegen.
// Owned by one compile; thread-compatible.
#ifndef PJRT_CORE_COMPILER_EMIT_THUNK_EMITTER_H_
#define PJRT_CORE_COMPILER_EMIT_THUNK_EMITTER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/compiler/codegen/kernel_codegen.h"
#include "pjrt_core/compiler/codegen/kernel_launch.h"
#include "pjrt_core/compiler/emit/memory_map.h"
#include "pjrt_core/program/program_generated.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

namespace onexpu::compiler {

class ThunkEmitter {
 public:
  ThunkEmitter(const xla::HloModule& module, MemoryMap& memory, KernelCodegen& codegen,
               program::ProgramT& program)
      : module_(module), memory_(memory), codegen_(codegen), program_(program) {}

  // Fills the thunks, the kernels and the blocking flag of the program.
  absl::Status EmitEntry();

 private:
  using Sequence = program::ThunkSequenceT;

  absl::StatusOr<std::unique_ptr<Sequence>> EmitComputation(const xla::HloComputation& computation);
  absl::Status EmitInstruction(const xla::HloInstruction& instruction, Sequence& sequence);
  absl::Status EmitKernels(const xla::HloInstruction& instruction, Sequence& sequence);
  absl::Status EmitCopy(const xla::HloInstruction& instruction, Sequence& sequence);
  absl::Status EmitControlFlow(const xla::HloInstruction& instruction, Sequence& sequence);
  absl::Status EmitWhile(const xla::HloInstruction& instruction, Sequence& sequence);
  // After the first launch of a region that takes some steps of a loop at a time.
  absl::Status EmitRestOfLoop(const xla::HloInstruction& instruction, const KernelLaunch& launch,
                              Sequence& sequence);
  // A loop whose condition the host reads before each run of the body, which `table` has.
  absl::Status AppendLoop(const xla::HloInstruction& instruction, program::WhileThunkT table,
                          Sequence& sequence);
  absl::Status EmitConditional(const xla::HloInstruction& instruction, Sequence& sequence);
  absl::Status EmitCall(const xla::HloInstruction& instruction, Sequence& sequence);
  absl::Status EmitCustomCall(const xla::HloInstruction& instruction, Sequence& sequence);
  absl::Status EmitCollective(const xla::HloInstruction& instruction, Sequence& sequence);

  void AppendLaunch(const xla::HloInstruction& instruction, const KernelLaunch& launch,
                    Sequence& sequence);
  uint32_t KernelIndex(const KernelLaunch& launch);

  template <typename Table>
  void Append(const xla::HloInstruction& instruction, Table table, Sequence& sequence);
  void AppendKind(const xla::HloInstruction& instruction, program::ThunkKindUnion kind,
                  Sequence& sequence);

  const xla::HloModule& module_;
  MemoryMap& memory_;
  KernelCodegen& codegen_;
  program::ProgramT& program_;

  using KernelKey = std::tuple<std::string, std::vector<uint64_t>, std::vector<uint64_t>>;
  std::map<KernelKey, uint32_t> kernels_;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_EMIT_THUNK_EMITTER_H_
