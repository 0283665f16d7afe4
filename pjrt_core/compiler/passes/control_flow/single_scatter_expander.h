// Turns a scatter with one index, such as `x.at[i].set(v)`, into a dynamic-update-slice, which
// fuses and runs inside of small regions. XLA's pass writes a loop of one step, which its
// WhileLoopSimplifier removes, and a map. Thread-compatible.
#ifndef PJRT_CORE_COMPILER_PASSES_CONTROL_FLOW_SINGLE_SCATTER_EXPANDER_H_
#define PJRT_CORE_COMPILER_PASSES_CONTROL_FLOW_SINGLE_SCATTER_EXPANDER_H_

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/service/scatter_expander.h"

namespace onexpu::compiler {

class SingleScatterExpander : public xla::ScatterExpander {
 public:
  SingleScatterExpander() : xla::ScatterExpander(kEliminateSimpleScatters) {}

 protected:
  bool InstructionMatchesPattern(xla::HloInstruction* instruction) override;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_CONTROL_FLOW_SINGLE_SCATTER_EXPANDER_H_
