// Transforms and factorisations that oneMKL does better than kernels of our own become onemkl-*
// calls; XLA's expanders and ours take the rest. Thread-compatible.
#ifndef PJRT_CORE_COMPILER_PASSES_LINEAR_ALGEBRA_LINEAR_ALGEBRA_REWRITER_H_
#define PJRT_CORE_COMPILER_PASSES_LINEAR_ALGEBRA_LINEAR_ALGEBRA_REWRITER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/compiler/target/target.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace onexpu::compiler {

// Before the expanders. Inverse real transforms over several dimensions become complex ones over
// the outer dimensions and a real one over the last.
class LinearAlgebraRewriter : public xla::HloModulePass {
 public:
  explicit LinearAlgebraRewriter(const Target& target) : target_(target) {}
  absl::string_view name() const override { return "linear-algebra-rewriter"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  const Target& target_;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_LINEAR_ALGEBRA_LINEAR_ALGEBRA_REWRITER_H_
