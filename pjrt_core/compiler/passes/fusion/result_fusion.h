// Merges a loop fusion into one that reads its result at the same place, which then has that
// result, too: what is there in a register is not read from memory again, and a launch is spared
// (producer-consumer multi-output fusion). Thread-compatible, as every pass.
#ifndef PJRT_CORE_COMPILER_PASSES_FUSION_RESULT_FUSION_H_
#define PJRT_CORE_COMPILER_PASSES_FUSION_RESULT_FUSION_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/compiler/target/target.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace onexpu::compiler {

// To run when every instruction that computes is a fusion. Loops that are one kernel
// (small_region.h) have no launches to spare.
class ResultFusion : public xla::HloModulePass {
 public:
  explicit ResultFusion(const Target& target) : target_(target) {}
  absl::string_view name() const override { return "result-fusion"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  const Target& target_;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_FUSION_RESULT_FUSION_H_
