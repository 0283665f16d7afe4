#include "pjrt_core/compiler/frontend/shardings.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
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

void AppendLeaves(const xla::HloSharding& sharding, std::vector<std::string>& shardings) {
  if (!sharding.IsTuple()) {
    shardings.push_back(sharding.ToProto().SerializeAsString());
    return;
  }
  for (const xla::HloSharding& element : sharding.tuple_elements()) {
    shardings.push_back(element.ToProto().SerializeAsString());
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

bool HasUnreducedShardings(const xla::HloModule& module) {
  const auto speaks_of_it = [](const xla::FrontendAttributes& attributes) {
    for (const auto& [name, value] : attributes.map()) {
      if (absl::StrContains(value, "unreduced")) return true;
    }
    return false;
  };
  if (!module.config().use_shardy_partitioner()) return false;
  if (speaks_of_it(module.frontend_attributes())) return true;
  for (const xla::HloComputation* computation : module.computations()) {
    for (const xla::HloInstruction* instruction : computation->instructions()) {
      if (speaks_of_it(instruction->frontend_attributes())) return true;
    }
  }
  return false;
}

ModuleShardings CollectPartitionedShardings(const xla::HloModule& module) {
  ModuleShardings shardings;
  if (module.has_spmd_parameters_shardings()) {
    for (const xla::HloSharding& sharding : module.spmd_parameters_shardings()) {
      AppendLeaves(sharding, shardings.parameters);
    }
  }
  if (module.has_spmd_output_sharding()) {
    AppendLeaves(module.spmd_output_sharding(), shardings.results);
  }
  return shardings;
}

}  // namespace onexpu::compiler
