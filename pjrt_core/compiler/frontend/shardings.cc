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
