// Large dots of complex numbers as four of real ones, which a library has. Thread-compatible.
#ifndef PJRT_CORE_COMPILER_PASSES_ONEDNN_COMPLEX_DOT_SPLITTER_H_
#define PJRT_CORE_COMPILER_PASSES_ONEDNN_COMPLEX_DOT_SPLITTER_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/transforms/expanders/op_expander_pass.h"

namespace onexpu::compiler {

// complex64 only: no library has f64 matmuls on every device.
class ComplexDotSplitter : public xla::OpExpanderPass {
 public:
  absl::string_view name() const override { return "complex-dot-splitter"; }

 protected:
  bool InstructionMatchesPattern(xla::HloInstruction* instruction) override;
  absl::StatusOr<xla::HloInstruction*> ExpandInstruction(xla::HloInstruction* instruction) override;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_ONEDNN_COMPLEX_DOT_SPLITTER_H_
