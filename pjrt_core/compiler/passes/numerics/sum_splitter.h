// Splits a sum over a whole array into sums of its rows and the sum of those, where the elements
// take something from their row: a row's value is computed once, not for each element. A
// cross-entropy's mean is such a sum, with a logarithm for each row, after the simplifier has made
// one of a sum of sums. To be run before fusion. Thread-compatible, as every pass.
#ifndef PJRT_CORE_COMPILER_PASSES_NUMERICS_SUM_SPLITTER_H_
#define PJRT_CORE_COMPILER_PASSES_NUMERICS_SUM_SPLITTER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace onexpu::compiler {

// Takes sums of one array, of 32 bits or more (the rows' sums are rounded to that type), with
// layouts assigned.
class SumSplitter : public xla::HloModulePass {
 public:
  absl::string_view name() const override { return "sum-splitter"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_NUMERICS_SUM_SPLITTER_H_
