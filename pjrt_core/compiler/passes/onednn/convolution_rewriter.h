// Convolutions of a type that oneDNN has become onednn-conv calls. Thread-compatible.
#ifndef PJRT_CORE_COMPILER_PASSES_ONEDNN_CONVOLUTION_REWRITER_H_
#define PJRT_CORE_COMPILER_PASSES_ONEDNN_CONVOLUTION_REWRITER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/compiler/target/target.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace onexpu::compiler {

// One to three spatial dimensions; gradients are recognised. The rest stay kConvolution, a loop in
// some kernel.
class ConvolutionRewriter : public xla::HloModulePass {
 public:
  explicit ConvolutionRewriter(const Target& target) : target_(target) {}
  absl::string_view name() const override { return "convolution-rewriter"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  const Target& target_;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_ONEDNN_CONVOLUTION_REWRITER_H_
