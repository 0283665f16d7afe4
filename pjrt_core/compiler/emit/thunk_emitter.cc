#include "pjrt_core/compiler/emit/thunk_emitter.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/analysis/hlo_queries.h"
#include "pjrt_core/compiler/emit/custom_call.h"
#include "pjrt_core/compiler/emit/library_thunks.h"
#include "pjrt_core/compiler/emit/linear_algebra_thunks.h"
#include "pjrt_core/compiler/emit/source_location.h"
#include "pjrt_core/compiler/passes/collectives/collective_call.h"
#include "pjrt_core/compiler/passes/onednn/library_call.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/layout_util.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {

using xla::HloInstruction;
using xla::HloOpcode;

template <typename Table>
void ThunkEmitter::Append(const HloInstruction& instruction, Table table, Sequence& sequence) {
  program::ThunkKindUnion kind;
  kind.Set(std::move(table));
  AppendKind(instruction, std::move(kind), sequence);
}

void ThunkEmitter::AppendKind(const HloInstruction& instruction, program::ThunkKindUnion kind,
                              Sequence& sequence) {
  auto thunk = std::make_unique<program::ThunkT>();
  thunk->kind = std::move(kind);
  thunk->op_name = instruction.name();
  thunk->source = SourceLocation(instruction);
  sequence.thunks.push_back(std::move(thunk));
}

absl::Status ThunkEmitter::EmitEntry() {
  ONEXPU_ASSIGN_OR_RETURN(program_.thunks, EmitComputation(*module_.entry_computation()));
  for (const MemoryMap::Copy& copy : memory_.result_copies()) {
    program::CopyThunkT table;
    table.source = std::make_unique<program::Slice>(copy.source);
    table.destination = std::make_unique<program::Slice>(copy.destination);
    Append(*module_.entry_computation()->root_instruction(), std::move(table), *program_.thunks);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ThunkEmitter::Sequence>> ThunkEmitter::EmitComputation(
    const xla::HloComputation& computation) {
  auto sequence = std::make_unique<Sequence>();
  for (const HloInstruction* instruction :
       module_.schedule().sequence(&computation).instructions()) {
    const absl::Status status = EmitInstruction(*instruction, *sequence);
    if (!status.ok()) return WithInstruction(status, *instruction);
  }
  return sequence;
}

absl::Status ThunkEmitter::EmitInstruction(const HloInstruction& instruction, Sequence& sequence) {
  if (IsFree(instruction)) return absl::OkStatus();
  switch (instruction.opcode()) {
    case HloOpcode::kCopy:
      return EmitCopy(instruction, sequence);
    case HloOpcode::kWhile:
    case HloOpcode::kConditional:
    case HloOpcode::kCall:
      return EmitControlFlow(instruction, sequence);
    case HloOpcode::kCustomCall:
      return EmitCustomCall(instruction, sequence);
    case HloOpcode::kFusion:
    case HloOpcode::kSort:
    case HloOpcode::kScatter:
    case HloOpcode::kSelectAndScatter:
    case HloOpcode::kReduceWindow:
    case HloOpcode::kRngGetAndUpdateState:
      return EmitKernels(instruction, sequence);
    default:
      return absl::UnimplementedError("no thunk for this operation");
  }
}

absl::Status ThunkEmitter::EmitKernels(const HloInstruction& instruction, Sequence& sequence) {
  ONEXPU_ASSIGN_OR_RETURN(const std::vector<KernelLaunch> launches, codegen_.Emit(instruction));
  for (const KernelLaunch& launch : launches) AppendLaunch(instruction, launch, sequence);
  return absl::OkStatus();
}

void ThunkEmitter::AppendLaunch(const HloInstruction& instruction, const KernelLaunch& launch,
                                Sequence& sequence) {
  program::KernelThunkT table;
  table.kernel = KernelIndex(launch);
  for (const KernelArgument& argument : launch.arguments) {
    table.arguments.push_back(argument.slice.allocation() == nullptr
                                  ? memory_.ScratchSlice(argument.scratch, argument.is_state)
                                  : memory_.Convert(argument.slice));
  }
  Append(instruction, std::move(table), sequence);
}

uint32_t ThunkEmitter::KernelIndex(const KernelLaunch& launch) {
  const std::vector<uint64_t> global(launch.global_size.begin(), launch.global_size.end());
  const std::vector<uint64_t> local(launch.local_size.begin(), launch.local_size.end());
  const auto [known, inserted] =
      kernels_.try_emplace({launch.entry_point, global, local}, program_.kernels.size());
  if (inserted) {
    auto kernel = std::make_unique<program::KernelT>();
    kernel->module_ = static_cast<uint32_t>(launch.module);
    kernel->entry_point = launch.entry_point;
    kernel->global_size = global;
    kernel->local_size = local;
    kernel->takes_extents = launch.takes_extents;
    program_.kernels.push_back(std::move(kernel));
  }
  return known->second;
}

absl::Status ThunkEmitter::EmitCopy(const HloInstruction& instruction, Sequence& sequence) {
  const HloInstruction& operand = *instruction.operand(0);
  if (!instruction.shape().IsArray() ||
      !xla::LayoutUtil::LayoutsInShapesEqual(instruction.shape(), operand.shape())) {
    return EmitKernels(instruction, sequence);
  }
  ONEXPU_ASSIGN_OR_RETURN(const program::Slice source, memory_.SliceOf(operand));
  ONEXPU_ASSIGN_OR_RETURN(const program::Slice destination, memory_.SliceOf(instruction));
  const bool same =
      source.allocation() == destination.allocation() && source.offset() == destination.offset();
  if (same || destination.size() == 0) return absl::OkStatus();
  program::CopyThunkT table;
  table.source = std::make_unique<program::Slice>(source);
  table.destination = std::make_unique<program::Slice>(destination);
  Append(instruction, std::move(table), sequence);
  return absl::OkStatus();
}

absl::Status ThunkEmitter::EmitControlFlow(const HloInstruction& instruction, Sequence& sequence) {
  if (codegen_.IsSmallRegion(instruction)) {
    ONEXPU_ASSIGN_OR_RETURN(const KernelLaunch launch, codegen_.EmitRegion(instruction));
    AppendLaunch(instruction, launch, sequence);
    return launch.is_part_of_loop ? EmitRestOfLoop(instruction, launch, sequence)
                                  : absl::OkStatus();
  }
  if (instruction.opcode() == HloOpcode::kWhile) return EmitWhile(instruction, sequence);
  if (instruction.opcode() == HloOpcode::kConditional) {
    return EmitConditional(instruction, sequence);
  }
  return EmitCall(instruction, sequence);
}

absl::Status ThunkEmitter::EmitWhile(const HloInstruction& instruction, Sequence& sequence) {
  program::WhileThunkT table;
  ONEXPU_ASSIGN_OR_RETURN(table.body, EmitComputation(*instruction.while_body()));
  if (const int64_t trips = KnownTripCount(instruction); trips >= 0) {
    table.trip_count = trips;
    Append(instruction, std::move(table), sequence);
    return absl::OkStatus();
  }
  return AppendLoop(instruction, std::move(table), sequence);
}

absl::Status ThunkEmitter::EmitRestOfLoop(const HloInstruction& instruction,
                                          const KernelLaunch& launch, Sequence& sequence) {
  program::WhileThunkT table;
  table.body = std::make_unique<Sequence>();
  AppendLaunch(instruction, launch, *table.body);
  return AppendLoop(instruction, std::move(table), sequence);
}

absl::Status ThunkEmitter::AppendLoop(const HloInstruction& instruction, program::WhileThunkT table,
                                      Sequence& sequence) {
  const xla::HloComputation& condition = *instruction.while_condition();
  ONEXPU_ASSIGN_OR_RETURN(table.condition, EmitComputation(condition));
  ONEXPU_ASSIGN_OR_RETURN(const program::Slice predicate,
                          memory_.SliceOf(*condition.root_instruction()));
  table.predicate = std::make_unique<program::Slice>(predicate);
  // The host reads the predicate before every step.
  program_.blocking = true;
  Append(instruction, std::move(table), sequence);
  return absl::OkStatus();
}

absl::Status ThunkEmitter::EmitConditional(const HloInstruction& instruction, Sequence& sequence) {
  program::ConditionalThunkT table;
  const HloInstruction& selector = *instruction.operand(0);
  ONEXPU_ASSIGN_OR_RETURN(const program::Slice slice, memory_.SliceOf(selector));
  table.selector = std::make_unique<program::Slice>(slice);
  table.selector_is_pred = selector.shape().element_type() == xla::PRED;
  for (const xla::HloComputation* branch : instruction.branch_computations()) {
    ONEXPU_ASSIGN_OR_RETURN(auto body, EmitComputation(*branch));
    table.branches.push_back(std::move(body));
  }
  // The host reads the selector.
  program_.blocking = true;
  Append(instruction, std::move(table), sequence);
  return absl::OkStatus();
}

absl::Status ThunkEmitter::EmitCall(const HloInstruction& instruction, Sequence& sequence) {
  program::CallThunkT table;
  ONEXPU_ASSIGN_OR_RETURN(table.body, EmitComputation(*instruction.to_apply()));
  Append(instruction, std::move(table), sequence);
  return absl::OkStatus();
}

absl::Status ThunkEmitter::EmitCustomCall(const HloInstruction& instruction, Sequence& sequence) {
  if (IsMatmul(instruction)) {
    ONEXPU_ASSIGN_OR_RETURN(program::GemmThunkT gemm, MakeGemm(instruction, memory_));
    Append(instruction, std::move(gemm), sequence);
    return absl::OkStatus();
  }
  if (IsConvolutionCall(instruction)) {
    ONEXPU_ASSIGN_OR_RETURN(program::ConvolutionThunkT convolution,
                            MakeConvolution(instruction, memory_));
    Append(instruction, std::move(convolution), sequence);
    return absl::OkStatus();
  }
  if (IsLinearAlgebraCall(instruction)) {
    ONEXPU_ASSIGN_OR_RETURN(program::ThunkKindUnion kind, MakeLinearAlgebra(instruction, memory_));
    AppendKind(instruction, std::move(kind), sequence);
    return absl::OkStatus();
  }
  if (IsCollectiveCall(instruction)) return EmitCollective(instruction, sequence);
  if (IsParticipantId(instruction)) {
    program::ParticipantIdThunkT table = ParticipantIdOf(instruction);
    ONEXPU_ASSIGN_OR_RETURN(const program::Slice slice, memory_.SliceOf(instruction));
    table.destination = std::make_unique<program::Slice>(slice);
    Append(instruction, std::move(table), sequence);
    return absl::OkStatus();
  }
  if (OnlyKeepsOperands(instruction.custom_call_target())) return absl::OkStatus();
  ONEXPU_ASSIGN_OR_RETURN(
      program::CustomCallThunkT table,
      MakeCustomCall(*xla::Cast<xla::HloCustomCallInstruction>(&instruction), memory_));
  if (WaitsForHost(table.target)) program_.blocking = true;
  Append(instruction, std::move(table), sequence);
  return absl::OkStatus();
}

absl::Status ThunkEmitter::EmitCollective(const HloInstruction& instruction, Sequence& sequence) {
  ONEXPU_ASSIGN_OR_RETURN(program::CollectiveThunkT table, CollectiveOf(instruction));
  ONEXPU_ASSIGN_OR_RETURN(const program::Slice source, memory_.SliceOf(*instruction.operand(0)));
  ONEXPU_ASSIGN_OR_RETURN(const program::Slice destination, memory_.SliceOf(instruction));
  table.source = std::make_unique<program::Slice>(source);
  table.destination = std::make_unique<program::Slice>(destination);
  // The participants wait for each other.
  program_.blocking = true;
  Append(instruction, std::move(table), sequence);
  return absl::OkStatus();
}

}  // namespace onexpu::compiler
