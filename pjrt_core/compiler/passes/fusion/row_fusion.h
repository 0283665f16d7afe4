// Takes reductions of rows into the fusion that goes on with the same rows, as in a softmax or a
// layer normalisation: a work-group then reads a row from memory once. Thread-compatible, as every
// pass.
#ifndef PJRT_CORE_COMPILER_PASSES_FUSION_ROW_FUSION_H_
#define PJRT_CORE_COMPILER_PASSES_FUSION_ROW_FUSION_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/compiler/target/target.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace onexpu::compiler {

// To run when everything that is a kernel has become a fusion.
class RowFusion : public xla::HloModulePass {
 public:
  explicit RowFusion(const Target& target) : target_(target) {}
  absl::string_view name() const override { return "row-fusion"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  const Target& target_;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_FUSION_ROW_FUSION_H_
