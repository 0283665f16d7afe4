// Numbers the parameters of every fusion in the order in which its computation meets them, so that
// fusions that do the same work to other arrays share a kernel (codegen/kernel/computation_text.h).
// Thread-compatible, as every pass.
#ifndef PJRT_CORE_COMPILER_PASSES_FUSION_FUSION_PARAMETER_ORDER_H_
#define PJRT_CORE_COMPILER_PASSES_FUSION_FUSION_PARAMETER_ORDER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace onexpu::compiler {

class FusionParameterOrder : public xla::HloModulePass {
 public:
  absl::string_view name() const override { return "fusion-parameter-order"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_FUSION_FUSION_PARAMETER_ORDER_H_
