// Moves what is done to a library call's result into the call: a bias, a ReLU, a scale.
// Thread-compatible.
#ifndef PJRT_CORE_COMPILER_PASSES_EPILOGUE_FUSION_H_
#define PJRT_CORE_COMPILER_PASSES_EPILOGUE_FUSION_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace onexpu::compiler {

// For onednn-matmul, and for forward onednn-conv, which becomes onednn-conv-bias-activation. Before
// layout assignment.
class EpilogueFusion : public xla::HloModulePass {
 public:
  absl::string_view name() const override { return "epilogue-fusion"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_EPILOGUE_FUSION_H_
