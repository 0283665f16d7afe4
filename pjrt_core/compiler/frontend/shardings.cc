#include "pjrt_core/compiler/frontend/shardings.h"

#include <string>
#include <vector>

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

void Append(const xla::HloInstruction& instruction, std::vector<std::string>& shardings) {
  for (const auto& leaf : xla::ShapeUtil::GetLeafShapes(instruction.shape())) {
    if (!instruction.has_sharding()) {
      shardings.emplace_back();
      continue;
    }
    const xla::HloSharding& sharding = instruction.sharding();
    shardings.push_back(
        (sharding.IsTuple() ? sharding.GetSubSharding(instruction.shape(), leaf.index) : sharding)
            .ToProto()
            .SerializeAsString());
  }
}

}  // namespace

ModuleShardings CollectShardings(const xla::HloModule& module) {
  ModuleShardings shardings;
  const xla::HloComputation& entry = *module.entry_computation();
  for (const xla::HloInstruction* parameter : entry.parameter_instructions()) {
    Append(*parameter, shardings.parameters);
  }
  Append(*entry.root_instruction(), shardings.results);
  return shardings;
}

}  // namespace onexpu::compiler
