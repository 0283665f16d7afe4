// Makes one fusion of a sort and of slices that read only the first elements of its rows (top-k),
// so that the first elements are selected and the others never sorted. Thread-compatible, as every
// pass.
#ifndef PJRT_CORE_COMPILER_PASSES_FUSION_TOP_K_FUSION_H_
#define PJRT_CORE_COMPILER_PASSES_FUSION_TOP_K_FUSION_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/compiler/target/target.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace onexpu::compiler {

// Runs after layout assignment and before other fusion passes, which would merge the slices into
// other kernels. Accepts every comparator for which the stable order is unique (OrderOf), so all
// sources of top-k take one path: TopkDecomposer's sorts, ApproxTopK, and sorts that a program
// slices. XLA's TopkRewriter makes a custom call of a sort by a known comparator. This pass keeps
// the sort, so that the kernel orders elements by the comparator of the program, whatever it is.
//
// A comparator of floats that leaves NaN unordered gets an order in which NaN comes last. The
// result of sorting by such a comparator depends on the algorithm if there are NaNs.
class TopKFusion : public xla::HloModulePass {
 public:
  explicit TopKFusion(const Target& target) : target_(target) {}
  absl::string_view name() const override { return "top-k-fusion"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  const Target& target_;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_FUSION_TOP_K_FUSION_H_
