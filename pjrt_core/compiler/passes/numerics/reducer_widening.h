// Reductions of narrow floats (16 bits and fewer) whose reducers compute: a running result that is
// rounded after each of n steps loses more with every step, and one that is large swallows what is
// added to it.
#ifndef PJRT_CORE_COMPILER_PASSES_NUMERICS_REDUCER_WIDENING_H_
#define PJRT_CORE_COMPILER_PASSES_NUMERICS_REDUCER_WIDENING_H_

#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace onexpu::compiler {

// Lets reduces and reduce-windows run in f32, reducer and all, and rounds their results, unless
// xla_allow_excess_precision is off. Leaves alone:
//
// - reducers that only choose (minimum, argmax), whose results are exact;
// - sums and products, which code generation widens (codegen/elemental/accumulators.h), except in
//   scans that ScanRewriter splits and windows that WindowSplitter splits: they store parts of
//   results in the operand's type.
//
// To be run before these two. Thread-compatible, like every pass.
class ReducerWidening : public xla::HloModulePass {
 public:
  // `scan_block_length`: ScanRewriter's, which splits longer scans.
  explicit ReducerWidening(int64_t scan_block_length) : scan_block_length_(scan_block_length) {}
  absl::string_view name() const override { return "reducer-widening"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  const int64_t scan_block_length_;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_NUMERICS_REDUCER_WIDENING_H_
