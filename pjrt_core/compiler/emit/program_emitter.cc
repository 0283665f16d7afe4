#include "pjrt_core/compiler/emit/program_emitter.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/emit/hlo_storage.h"
#include "pjrt_core/compiler/emit/memory_map.h"
#include "pjrt_core/compiler/emit/thunk_emitter.h"
#include "pjrt_core/compiler/emit/thunk_printer.h"
#include "pjrt_core/program/writer.h"
#include "xla/literal.h"
#include "xla/service/hlo_cost_analysis.h"

namespace onexpu::compiler {
namespace {

absl::StatusOr<std::unique_ptr<program::CostT>> EstimateCost(const xla::HloModule& module) {
  xla::HloCostAnalysis analysis;
  ONEXPU_RETURN_IF_ERROR(module.entry_computation()->Accept(&analysis));
  auto cost = std::make_unique<program::CostT>();
  cost->flops = analysis.flop_count();
  cost->bytes_accessed = analysis.bytes_accessed();
  cost->transcendentals = analysis.transcendental_count();
  cost->optimal_seconds = analysis.optimal_seconds();
  return cost;
}

void Describe(const ProgramDescription& description, const xla::HloModule& module,
              program::Writer& writer, program::ProgramT& program) {
  program.name = module.name();
  program.compiler_version = description.compiler_version;
  program.fingerprint = description.fingerprint;
  program.target.reset(description.target->UnPack());
  program.num_replicas = static_cast<int32_t>(module.config().replica_count());
  program.num_partitions = static_cast<int32_t>(module.config().num_partitions());
  program.compile_options =
      std::make_unique<program::Blob>(writer.AddBlob(std::string(description.compile_options)));
}

template <typename Table>
void SetMemoryKinds(const std::vector<program::MemoryKind>& kinds,
                    std::vector<std::unique_ptr<Table>>& tables) {
  // The lists differ in length only when arguments are nested; those have no memory kinds.
  if (kinds.size() != tables.size()) return;
  for (size_t i = 0; i < kinds.size(); ++i) tables[i]->memory_kind = kinds[i];
}

// The last result holds the sizes, where the host reads them.
void SetDynamicSizes(absl::Span<const DynamicDimension> dimensions, program::ProgramT& program) {
  if (dimensions.empty()) return;
  program.has_size_result = true;
  program.results.back()->memory_kind = program::MemoryKind::PinnedHost;
  for (size_t i = 0; i < dimensions.size(); ++i) {
    program::ResultT& result = *program.results[dimensions[i].result];
    result.dynamic_sizes.resize(result.shape->dimensions.size(), -1);
    result.dynamic_sizes[dimensions[i].dimension] = static_cast<int32_t>(i);
  }
}

}  // namespace

absl::StatusOr<EmittedProgram> EmitProgram(xla::HloModule& module,
                                           const xla::BufferAssignment& assignment,
                                           KernelCodegen& codegen,
                                           const ProgramDescription& description) {
  program::Writer writer;
  program::ProgramT program;
  Describe(description, module, writer, program);
  ONEXPU_ASSIGN_OR_RETURN(MemoryMap memory, MemoryMap::Create(module, assignment, writer, program));
  SetMemoryKinds(description.parameter_memory, program.parameters);
  SetMemoryKinds(description.result_memory, program.results);
  SetDynamicSizes(description.dynamic_dimensions, program);

  if (description.extents.is_resizable()) {
    program.resizable =
        std::make_unique<program::Extents>(description.extents.rows, description.extents.columns);
  }

  ONEXPU_RETURN_IF_ERROR(ThunkEmitter(module, memory, codegen, program).EmitEntry());
  EmittedProgram emitted;
  ONEXPU_ASSIGN_OR_RETURN(emitted.modules, codegen.Finish());
  for (const CompiledModule& compiled : emitted.modules) {
    program.modules.push_back(writer.AddBlob(compiled.spirv));
    program.generated_code_bytes += compiled.spirv.size();
  }
  ONEXPU_ASSIGN_OR_RETURN(program.cost, EstimateCost(module));
  const std::vector<xla::Literal> literals = StoreHlo(module, writer, program);
  emitted.thunk_sequence = PrintThunks(program);
  ONEXPU_ASSIGN_OR_RETURN(emitted.bytes,
                          writer.Finish(program::Program::Pack(writer.builder(), &program)));
  return emitted;
}

}  // namespace onexpu::compiler
