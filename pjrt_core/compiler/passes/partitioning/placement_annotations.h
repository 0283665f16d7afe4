// Where a value should lie is said of parameters and results by the module's signature. Annotations
// of values in between ask for host memory while nothing uses them: a wish, which device memory
// serves as well. Thread-compatible, as every pass.
#ifndef PJRT_CORE_COMPILER_PASSES_PARTITIONING_PLACEMENT_ANNOTATIONS_H_
#define PJRT_CORE_COMPILER_PASSES_PARTITIONING_PLACEMENT_ANNOTATIONS_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace onexpu::compiler {

// Puts the operand in the place of each custom call `annotate_device_placement`.
class PlacementAnnotations : public xla::HloModulePass {
 public:
  absl::string_view name() const override { return "placement-annotations"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_PARTITIONING_PLACEMENT_ANNOTATIONS_H_
