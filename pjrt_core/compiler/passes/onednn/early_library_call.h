// Moves the first library call of a scheduled program, with what it needs, to the front.
//
// A program begins with the device waiting for the host: submitting a small kernel takes longer
// than running it. Behind a product or a convolution the host is ahead. To be run after the
// scheduler. Thread-compatible, as every pass.
#ifndef PJRT_CORE_COMPILER_PASSES_ONEDNN_EARLY_LIBRARY_CALL_H_
#define PJRT_CORE_COMPILER_PASSES_ONEDNN_EARLY_LIBRARY_CALL_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace onexpu::compiler {

class EarlyLibraryCall : public xla::HloModulePass {
 public:
  absl::string_view name() const override { return "early-library-call"; }

 protected:
  // Fails with FAILED_PRECONDITION for a module without a schedule.
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_ONEDNN_EARLY_LIBRARY_CALL_H_
