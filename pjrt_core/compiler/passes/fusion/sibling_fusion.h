// Merges loop fusions of one shape that read the same arrays into one kernel with several results.
// Thread-compatible, as every pass.
#ifndef PJRT_CORE_COMPILER_PASSES_FUSION_SIBLING_FUSION_H_
#define PJRT_CORE_COMPILER_PASSES_FUSION_SIBLING_FUSION_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/service/multi_output_fusion.h"

namespace onexpu::compiler {

class SiblingFusion : public xla::MultiOutputFusion {
 public:
  explicit SiblingFusion(const xla::AliasInfo* alias_info) : MultiOutputFusion(alias_info) {}
  absl::string_view name() const override { return "sibling-fusion"; }

 protected:
  bool ShapesCompatibleForFusion(xla::HloInstruction* first, xla::HloInstruction* second) override;
  bool IsFusible(xla::HloInstruction* instruction) override;
  int64_t GetProfit(xla::HloInstruction* first, xla::HloInstruction* second) override;
  bool LegalToFuse(xla::HloInstruction* first, xla::HloInstruction* second) override;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_FUSION_SIBLING_FUSION_H_
