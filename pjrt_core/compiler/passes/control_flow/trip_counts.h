// Two passes around XLA's that keep wrong trip counts from being used (analysis/loop_counter.h).
// Thread-compatible.
#ifndef PJRT_CORE_COMPILER_PASSES_CONTROL_FLOW_TRIP_COUNTS_H_
#define PJRT_CORE_COMPILER_PASSES_CONTROL_FLOW_TRIP_COUNTS_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace onexpu::compiler {

// To be run before each WhileLoopSimplifier, which removes loops that run once. Hides the counter
// from it, by an optimization barrier in the condition, if the loop runs more often.
class WrappingCounterGuard : public xla::HloModulePass {
 public:
  absl::string_view name() const override { return "wrapping-counter-guard"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

// To be run after WhileLoopTripCountAnnotator. Removes annotations that are wrong.
class TripCountVerifier : public xla::HloModulePass {
 public:
  absl::string_view name() const override { return "trip-count-verifier"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_CONTROL_FLOW_TRIP_COUNTS_H_
