#include "pjrt_core/compiler/frontend/shardings.h"

#include "absl/strings/match.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {

bool HasUnreducedShardings(const xla::HloModule& module) {
  if (module.config().num_partitions() == 1 || !module.config().use_shardy_partitioner()) {
    return false;
  }
  const auto speaks_of_it = [](const xla::FrontendAttributes& attributes) {
    for (const auto& [name, value] : attributes.map()) {
      if (absl::StrContains(value, "unreduced")) return true;
    }
    return false;
  };
  if (speaks_of_it(module.frontend_attributes())) return true;
  for (const xla::HloComputation* computation : module.computations()) {
    for (const xla::HloInstruction* instruction : computation->instructions()) {
      if (speaks_of_it(instruction->frontend_attributes())) return true;
    }
  }
  return false;
}

}  // namespace onexpu::compiler
