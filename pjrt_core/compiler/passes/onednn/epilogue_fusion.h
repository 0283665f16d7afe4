// Moves what is done to a library call's result into the call: a scale, an addend, a bias, an
// activation.
// Thread-compatible.
#ifndef PJRT_CORE_COMPILER_PASSES_ONEDNN_EPILOGUE_FUSION_H_
#define PJRT_CORE_COMPILER_PASSES_ONEDNN_EPILOGUE_FUSION_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/compiler/target/target.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace onexpu::compiler {

// For onednn-matmul, and for forward onednn-conv, which becomes onednn-conv-bias-activation. Runs
// before layout assignment, and again after it: an addend must be laid out like the result, and
// what follows an addend had to wait for it.
class EpilogueFusion : public xla::HloModulePass {
 public:
  EpilogueFusion(const Target& target, bool layout_sensitive)
      : target_(target), layout_sensitive_(layout_sensitive) {}
  absl::string_view name() const override { return "epilogue-fusion"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  const Target& target_;
  const bool layout_sensitive_;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_ONEDNN_EPILOGUE_FUSION_H_
