// Merges Fourier transforms of one kind, shape and layout that do not wait for each other into one
// kernel with several results. Thread-compatible, as every pass.
#ifndef PJRT_CORE_COMPILER_PASSES_FUSION_TRANSFORM_FUSION_H_
#define PJRT_CORE_COMPILER_PASSES_FUSION_TRANSFORM_FUSION_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace onexpu::compiler {

// To run when every transform that is a kernel has become a fusion.
class TransformFusion : public xla::HloModulePass {
 public:
  absl::string_view name() const override { return "transform-fusion"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_FUSION_TRANSFORM_FUSION_H_
