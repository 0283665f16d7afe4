// Marks bf16 and f16 values with several users as rounded (analysis/rounded_values.h). To be run
// before the first fusion pass.
//
// Fusions compute a value again for each user, and an intermediate value may stay in f32
// (codegen/elemental/excess_precision.h). Without the mark, one user would see the rounded value
// and another the wide one: `y == max(y)` would be false everywhere, `exp(y - max(y))` infinite,
// and the gradient of a maximum zero. Thread-compatible.
#ifndef PJRT_CORE_COMPILER_PASSES_NUMERICS_SHARED_VALUE_ROUNDING_H_
#define PJRT_CORE_COMPILER_PASSES_NUMERICS_SHARED_VALUE_ROUNDING_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace onexpu::compiler {

class SharedValueRounding : public xla::HloModulePass {
 public:
  absl::string_view name() const override { return "shared-value-rounding"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_NUMERICS_SHARED_VALUE_ROUNDING_H_
