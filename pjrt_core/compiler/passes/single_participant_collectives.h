// Collectives among one participant give back what they are given; the ids of replica and partition
// are zero. Thread-compatible, as every pass.
#ifndef PJRT_CORE_COMPILER_PASSES_SINGLE_PARTICIPANT_COLLECTIVES_H_
#define PJRT_CORE_COMPILER_PASSES_SINGLE_PARTICIPANT_COLLECTIVES_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace onexpu::compiler {

// Leaves collectives among several participants alone.
class SingleParticipantCollectives : public xla::HloModulePass {
 public:
  absl::string_view name() const override { return "single-participant-collectives"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_SINGLE_PARTICIPANT_COLLECTIVES_H_
