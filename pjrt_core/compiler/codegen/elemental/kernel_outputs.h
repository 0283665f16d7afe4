// The results of an operation or fusion, as the loop schedule and the region emitter store them.
// Free functions on the caller's context.
#ifndef PJRT_CORE_COMPILER_CODEGEN_ELEMENTAL_KERNEL_OUTPUTS_H_
#define PJRT_CORE_COMPILER_CODEGEN_ELEMENTAL_KERNEL_OUTPUTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "pjrt_core/compiler/codegen/elemental/fusion_context.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace onexpu::compiler {

// The `leaf`-th value of `instruction` is stored to `array`, which the kernel owns, or its caller.
struct Output {
  const xla::HloInstruction* instruction;
  int64_t leaf;
  const Array* array;
};

// The outputs of `root`, or of its operands if it is a tuple: one for each of `results`, which they
// point to.
std::vector<Output> OutputsOf(const xla::HloInstruction& root, absl::Span<const Array> results);

// Whether `operand`, a leaf of the kernel, is an array in the memory of `result`.
bool IsInMemoryOf(const FusionContext& kernel, const xla::HloInstruction& operand,
                  const Array& result);

// Whether the output is a kDynamicUpdateSlice whose operand is in the output's memory, so that only
// the update has to be written.
bool UpdatesInPlace(const FusionContext& kernel, const Output& output);

// Computes the elements of all outputs at `index`, and stores them.
absl::Status StoreElements(FusionContext& kernel, absl::Span<const Output> outputs,
                           const Index& index);

// Computes the element of the update at `index`, and stores it. Of outputs that UpdatesInPlace.
absl::Status StoreUpdate(FusionContext& kernel, const Output& output, const Index& index);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_ELEMENTAL_KERNEL_OUTPUTS_H_
