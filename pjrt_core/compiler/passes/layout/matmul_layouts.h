// Copies what a matmul cannot take as it lies: oneDNN wants rows or columns that are contiguous.
// Thread-compatible.
#ifndef PJRT_CORE_COMPILER_PASSES_LAYOUT_MATMUL_LAYOUTS_H_
#define PJRT_CORE_COMPILER_PASSES_LAYOUT_MATMUL_LAYOUTS_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace onexpu::compiler {

// After layout assignment, which leaves the layouts of matmuls to their surroundings.
class MatmulLayouts : public xla::HloModulePass {
 public:
  absl::string_view name() const override { return "matmul-layouts"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_LAYOUT_MATMUL_LAYOUTS_H_
