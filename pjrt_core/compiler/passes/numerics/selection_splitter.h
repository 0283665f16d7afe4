// Splits select-and-scatters whose windows overlap, which are gradients of max pooling: first the
// number of the element that each window selects, then the sum of what the windows scatter to an
// element. As one kernel, each element would ask every window that covers it for its selection, so
// windows would be searched again and again.
//
// Both parts are elementwise, over slices and pads for each element of a window, so only windows of
// few elements are split. The combination must be a sum from zero.
// To be run before fusion. Thread-compatible, like every pass.
#ifndef PJRT_CORE_COMPILER_PASSES_NUMERICS_SELECTION_SPLITTER_H_
#define PJRT_CORE_COMPILER_PASSES_NUMERICS_SELECTION_SPLITTER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace onexpu::compiler {

class SelectionSplitter : public xla::HloModulePass {
 public:
  absl::string_view name() const override { return "selection-splitter"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_NUMERICS_SELECTION_SPLITTER_H_
