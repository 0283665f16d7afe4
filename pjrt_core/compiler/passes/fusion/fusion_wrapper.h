// Puts every instruction that still needs a kernel into a fusion of its own, so that code
// generation meets one form. Thread-compatible, as every pass.
#ifndef PJRT_CORE_COMPILER_PASSES_FUSION_FUSION_WRAPPER_H_
#define PJRT_CORE_COMPILER_PASSES_FUSION_FUSION_WRAPPER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace onexpu::compiler {

// Copies that keep the layout stay bare: they are copies of memory.
class FusionWrapper : public xla::HloModulePass {
 public:
  absl::string_view name() const override { return "fusion-wrapper"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_FUSION_FUSION_WRAPPER_H_
