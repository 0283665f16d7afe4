// Fourier transforms as products with constant matrices, which become matmuls. Thread-compatible.
#ifndef PJRT_CORE_COMPILER_PASSES_FOURIER_FFT_EXPANDER_H_
#define PJRT_CORE_COMPILER_PASSES_FOURIER_FFT_EXPANDER_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/compiler/target/target.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/transforms/expanders/op_expander_pass.h"

namespace onexpu::compiler {

// All but those that are kernels (analysis/fft_queries.h). A length that is a product of two is
// transformed in two steps, a large prime as a convolution.
class FftExpander : public xla::OpExpanderPass {
 public:
  explicit FftExpander(const Target& target) : target_(target) {}
  absl::string_view name() const override { return "fft-expander"; }

 protected:
  bool InstructionMatchesPattern(xla::HloInstruction* instruction) override;
  absl::StatusOr<xla::HloInstruction*> ExpandInstruction(xla::HloInstruction* instruction) override;

 private:
  const Target& target_;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_FOURIER_FFT_EXPANDER_H_
