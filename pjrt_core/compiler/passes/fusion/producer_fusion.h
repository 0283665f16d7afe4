// Fuses producers into their consumers, with the project's policy. Thread-compatible, as every
// pass.
#ifndef PJRT_CORE_COMPILER_PASSES_FUSION_PRODUCER_FUSION_H_
#define PJRT_CORE_COMPILER_PASSES_FUSION_PRODUCER_FUSION_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/service/fusion_node_indexing_evaluation.h"
#include "xla/service/instruction_fusion.h"

namespace onexpu::compiler {

class ProducerFusion : public xla::InstructionFusion {
 public:
  explicit ProducerFusion(const xla::AliasInfo* alias_info);
  absl::string_view name() const override { return "producer-fusion"; }

 protected:
  std::vector<xla::HloComputation*> GetNonFusionComputations(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
  xla::FusionDecision ShouldFuse(xla::HloInstruction* consumer, int64_t operand_index) override;
  xla::HloInstruction::FusionKind ChooseKind(const xla::HloInstruction* producer,
                                             const xla::HloInstruction* consumer) override;
  xla::HloInstruction* FuseInstruction(xla::HloInstruction* fusion,
                                       xla::HloInstruction* producer) override;
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  // How often code for each instruction of a fusion is written: once per different index.
  absl::flat_hash_map<const xla::HloInstruction*, xla::FusionNodeIndexingEvaluation> evaluations_;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_FUSION_PRODUCER_FUSION_H_
