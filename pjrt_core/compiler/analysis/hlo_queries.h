// Questions about HLO instructions that passes, thunks and code generation ask alike. Stateless.
#ifndef PJRT_CORE_COMPILER_ANALYSIS_HLO_QUERIES_H_
#define PJRT_CORE_COMPILER_ANALYSIS_HLO_QUERIES_H_

#include <cstdint>
#include <vector>

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace onexpu::compiler {

// Nothing is executed for it: it only names memory.
bool IsFree(const xla::HloInstruction& instruction);

// A fusion's root, or the instruction itself.
const xla::HloInstruction& RootOf(const xla::HloInstruction& instruction);

// What RootOf gives: the elements of a tuple, or itself.
std::vector<const xla::HloInstruction*> ResultsOf(const xla::HloInstruction& instruction);
// One of them: the first.
const xla::HloInstruction& OneResultOf(const xla::HloInstruction& instruction);

bool IsFloatConversion(const xla::HloInstruction& instruction);

// Elementwise operations that cost as much as dozens of others.
bool IsTranscendental(xla::HloOpcode opcode);

// The trip count of a loop, found by an earlier pass; -1 if unknown.
int64_t KnownTripCount(const xla::HloInstruction& loop);

// Whether it is what a loop repeats, or called by that.
bool IsInLoop(const xla::HloComputation& computation);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_ANALYSIS_HLO_QUERIES_H_
