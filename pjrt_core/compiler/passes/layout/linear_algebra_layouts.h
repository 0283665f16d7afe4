// Copies what a onemkl-* call cannot take as it lies. Thread-compatible.
#ifndef PJRT_CORE_COMPILER_PASSES_LAYOUT_LINEAR_ALGEBRA_LAYOUTS_H_
#define PJRT_CORE_COMPILER_PASSES_LAYOUT_LINEAR_ALGEBRA_LAYOUTS_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace onexpu::compiler {

// After layout assignment, which leaves these calls to their surroundings. A Cholesky
// factorisation and a triangular solve work on rows as on columns, in place; a transform on
// any batch that one distance walks through.
class LinearAlgebraLayouts : public xla::HloModulePass {
 public:
  absl::string_view name() const override { return "linear-algebra-layouts"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_LAYOUT_LINEAR_ALGEBRA_LAYOUTS_H_
