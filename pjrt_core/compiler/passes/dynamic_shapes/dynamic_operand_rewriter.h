// Rewrites instructions on bounded dynamic dimensions for which XLA's DynamicPadder has no rule or
// a wrong one. To be run right before the padder. Thread-compatible, as every pass.
#ifndef PJRT_CORE_COMPILER_PASSES_DYNAMIC_SHAPES_DYNAMIC_OPERAND_REWRITER_H_
#define PJRT_CORE_COMPILER_PASSES_DYNAMIC_SHAPES_DYNAMIC_OPERAND_REWRITER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace onexpu::compiler {

// Each rewritten instruction computes on arrays of the upper bounds, whose elements beyond the size
// are masked if the instruction mixes them with others, and its results get their sizes from
// set-dimension-size:
//
// - reduce-window: the padder ignores the window's padding when it computes the size of a result
//   (cumulative sums), and pad and slice: it computes negative sizes, and ignores a slice's limit;
// - cholesky, triangular-solve, fft and calls of factorisations: the padder has no rule. Matrices
//   of dynamic size continue as the identity;
// - gather and scatter with batching dimensions, whose normalizer hides the sizes of indices of
//   scalars.
//
// UNIMPLEMENTED, with the instruction and what to do, for a dynamic dimension that a transform or a
// factorisation works along, and for a scatter of windows of dynamic size into a static dimension.
class DynamicOperandRewriter : public xla::HloModulePass {
 public:
  absl::string_view name() const override { return "dynamic-operand-rewriter"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_DYNAMIC_SHAPES_DYNAMIC_OPERAND_REWRITER_H_
