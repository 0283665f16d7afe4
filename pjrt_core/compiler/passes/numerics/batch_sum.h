// Makes one product of a sum over a product's batches: the gradient of weights that all batches
// share is `sum_b x[b]^T y[b]`, which contracts the batches, too. A sum in f32 of products in 16
// bits becomes a product with a result in f32: what was rounded in between is not.
//
// To be run on simplified modules, before the decomposer of dots, which makes one dimension of
// several that are contracted. Thread-compatible, as every pass.
#ifndef PJRT_CORE_COMPILER_PASSES_NUMERICS_BATCH_SUM_H_
#define PJRT_CORE_COMPILER_PASSES_NUMERICS_BATCH_SUM_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace onexpu::compiler {

class BatchSum : public xla::HloModulePass {
 public:
  absl::string_view name() const override { return "batch-sum"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_NUMERICS_BATCH_SUM_H_
