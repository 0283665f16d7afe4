// Keeps XLA's AlgebraicSimplifier from two rewrites that hold for real numbers only:
// sqrt(z * z) becomes |z|, and log(exp(z)) becomes z. With complex z the first is z or -z, and the
// imaginary part of the second lies between -pi and pi. The square, or the logarithm, is written
// with real numbers. To be run before the first AlgebraicSimplifier. Thread-compatible.
#ifndef PJRT_CORE_COMPILER_PASSES_NUMERICS_COMPLEX_BRANCHES_H_
#define PJRT_CORE_COMPILER_PASSES_NUMERICS_COMPLEX_BRANCHES_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace onexpu::compiler {

class ComplexBranches : public xla::HloModulePass {
 public:
  absl::string_view name() const override { return "complex-branches"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_NUMERICS_COMPLEX_BRANCHES_H_
