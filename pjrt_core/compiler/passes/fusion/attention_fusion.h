// Makes one kernel of attention: the scores, which are as many as queries times keys, are computed
// block by block where they are used, and never lie in memory. Thread-compatible, as every pass.
#ifndef PJRT_CORE_COMPILER_PASSES_FUSION_ATTENTION_FUSION_H_
#define PJRT_CORE_COMPILER_PASSES_FUSION_ATTENTION_FUSION_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/compiler/target/target.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace onexpu::compiler {

// To run before dots become library calls. The kernel (codegen/schedules/attention.cc) is a CPU's:
// a GPU's library has matrix units for the products.
class AttentionFusion : public xla::HloModulePass {
 public:
  explicit AttentionFusion(const Target& target) : target_(target) {}
  absl::string_view name() const override { return "attention-fusion"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  const Target& target_;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_FUSION_ATTENTION_FUSION_H_
