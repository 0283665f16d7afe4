// Orders the operands of commutative operations in every fusion by their structure, so that fusions
// that differ only in `a * b` and `b * a` share a kernel (codegen/kernel/computation_text.h). To be
// run before FusionParameterOrder. Thread-compatible, as every pass.
#ifndef PJRT_CORE_COMPILER_PASSES_NUMERICS_COMMUTATIVE_OPERAND_ORDER_H_
#define PJRT_CORE_COMPILER_PASSES_NUMERICS_COMMUTATIVE_OPERAND_ORDER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace onexpu::compiler {

class CommutativeOperandOrder : public xla::HloModulePass {
 public:
  absl::string_view name() const override { return "commutative-operand-order"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_NUMERICS_COMMUTATIVE_OPERAND_ORDER_H_
