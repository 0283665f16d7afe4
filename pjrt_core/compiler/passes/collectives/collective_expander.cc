#include "pjrt_core/compiler/passes/collectives/collective_expander.h"

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/passes/collectives/all_reduce.h"
#include "pjrt_core/compiler/passes/collectives/collective_call.h"
#include "pjrt_core/compiler/passes/collectives/collective_writer.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/service/collective_ops_utils.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

using program::CollectiveKind;
using xla::HloInstruction;
using xla::HloOpcode;
using xla::Shape;

absl::Status Unsupported(const HloInstruction& collective, absl::string_view why) {
  return absl::UnimplementedError(absl::StrCat(
      "onexpu: ", xla::HloOpcodeString(collective.opcode()), " ", collective.name(), " of ",
      collective.operand(0)->shape().ToString(), " among several devices: ", why));
}

// The groups of a collective. Only those of an all-reduce may differ in size: what the others give
// has a size that follows from their group's.
absl::StatusOr<ParticipantGroups> GroupsOf(const xla::HloCollectiveInstruction& collective) {
  const xla::HloModuleConfig& config = collective.GetModule()->config();
  ONEXPU_ASSIGN_OR_RETURN(const xla::CollectiveOpGroupMode mode,
                          xla::GetCollectiveOpGroupMode(&collective));
  ONEXPU_ASSIGN_OR_RETURN(
      const auto list, xla::GetParticipatingFlattenedIdGroups(
                           collective.device_list(), mode, static_cast<int>(config.replica_count()),
                           static_cast<int>(config.num_partitions())));
  ParticipantGroups groups = list->flattened_replica_groups();
  const int64_t participants = config.replica_count() * config.num_partitions();
  if (collective.opcode() != HloOpcode::kAllReduce && !AreOfOneSize(groups)) {
    return Unsupported(collective, "its groups differ in size, which only an all-reduce's may");
  }
  int64_t members = 0;
  for (const std::vector<int64_t>& group : groups) members += group.size();
  if (members != participants) {
    return absl::InvalidArgumentError(absl::StrCat("a collective whose groups have ", members,
                                                   " members, in a program of ", participants));
  }
  return groups;
}

// Concatenates the arrays of all participants along `dimension`.
HloInstruction* AllGather(CollectiveWriter& writer, HloInstruction* array, int64_t dimension,
                          const ParticipantGroups& groups) {
  const int64_t size = groups.front().size();
  if (size == 1) return array;
  const absl::Span<const int64_t> dimensions = array->shape().dimensions();
  HloInstruction* all =
      writer.Exchange(CollectiveKind::AllGather, groups, array, With(dimensions, 0, size));
  std::vector<int64_t> joined(dimensions.begin(), dimensions.end());
  joined[dimension] *= size;
  return writer.Reshape(writer.Move(all, 0, dimension), joined);
}

// [..., n * part, ...] -> [n, ..., part, ...]: the parts that go to each member of the group.
HloInstruction* Split(CollectiveWriter& writer, HloInstruction* array, int64_t dimension,
                      int64_t size) {
  const absl::Span<const int64_t> dimensions = array->shape().dimensions();
  std::vector<int64_t> split = With(dimensions, dimension, size);
  split[dimension + 1] /= size;
  return writer.Move(writer.Reshape(array, split), dimension, 0);
}

HloInstruction* ReduceScatter(CollectiveWriter& writer, HloInstruction* array, int64_t dimension,
                              xla::HloComputation* combiner, const ParticipantGroups& groups) {
  const int64_t size = groups.front().size();
  if (size == 1) return array;
  HloInstruction* parts = Split(writer, array, dimension, size);
  HloInstruction* received =
      writer.Exchange(CollectiveKind::AllToAll, groups, parts, parts->shape().dimensions());
  return writer.Combine(received, combiner);
}

HloInstruction* AllToAll(CollectiveWriter& writer, HloInstruction* array, int64_t dimension,
                         const ParticipantGroups& groups) {
  const int64_t size = groups.front().size();
  if (size == 1) return array;
  HloInstruction* parts = Split(writer, array, dimension, size);
  HloInstruction* received =
      writer.Exchange(CollectiveKind::AllToAll, groups, parts, parts->shape().dimensions());
  return writer.Reshape(writer.Move(received, 0, dimension), array->shape().dimensions());
}

// An operand for each member of the group, and a result of each.
HloInstruction* AllToAllOfMany(CollectiveWriter& writer, const HloInstruction& collective,
                               const ParticipantGroups& groups) {
  std::vector<HloInstruction*> rows;
  for (HloInstruction* operand : collective.operands()) {
    rows.push_back(writer.Reshape(operand, With(operand->shape().dimensions(), 0, 1)));
  }
  const std::vector<int64_t> dimensions =
      With(collective.operand(0)->shape().dimensions(), 0, static_cast<int64_t>(rows.size()));
  HloInstruction* parts = writer.Add(HloInstruction::CreateConcatenate(
      xla::ShapeUtil::MakeShape(collective.operand(0)->shape().element_type(), dimensions), rows,
      0));
  HloInstruction* received = writer.Exchange(CollectiveKind::AllToAll, groups, parts, dimensions);
  std::vector<HloInstruction*> results;
  for (size_t i = 0; i < rows.size(); ++i) results.push_back(writer.Part(received, i));
  return writer.Add(HloInstruction::CreateTuple(results));
}

// Replaces each operand, and makes a tuple of the results where the collective has one.
HloInstruction* ForEachOperand(CollectiveWriter& writer, const HloInstruction& collective,
                               const std::function<HloInstruction*(HloInstruction*)>& replace) {
  std::vector<HloInstruction*> results;
  for (HloInstruction* operand : collective.operands()) results.push_back(replace(operand));
  if (!collective.shape().IsTuple()) return results.front();
  return writer.Add(HloInstruction::CreateTuple(results));
}

absl::StatusOr<HloInstruction*> Permute(CollectiveWriter& writer,
                                        xla::HloCollectivePermuteInstruction& permute) {
  if (!permute.dynamic_slice_sizes_list().empty()) {
    return Unsupported(permute, "permute the slices themselves, not in place");
  }
  const xla::HloModuleConfig& config = permute.GetModule()->config();
  const int64_t replicas = config.replica_count();
  const int64_t partitions = config.num_partitions();
  // Across partitions with a channel, the same in every replica; across replicas without.
  const bool crosses_partitions = permute.channel_id().has_value();
  const int64_t numbers = crosses_partitions ? partitions : replicas;
  const int64_t others = crosses_partitions ? replicas : partitions;
  ParticipantGroups pairs;
  for (const auto& [source, target] : permute.source_target_pairs()) {
    if (source < 0 || source >= numbers || target < 0 || target >= numbers) {
      return absl::InvalidArgumentError(
          absl::StrCat("a permutation from ", source, " to ", target, " among ", numbers));
    }
    for (int64_t other = 0; other < others; ++other) {
      const auto participant = [&](int64_t number) {
        return crosses_partitions ? other * partitions + number : number * partitions + other;
      };
      pairs.push_back({participant(source), participant(target)});
    }
  }
  return ForEachOperand(writer, permute, [&](HloInstruction* operand) {
    if (pairs.empty()) return writer.Zeros(operand->shape());
    return writer.Exchange(CollectiveKind::Permute, pairs, operand, operand->shape().dimensions());
  });
}

// Null for what is no collective.
absl::StatusOr<HloInstruction*> Expanded(HloInstruction& instruction) {
  CollectiveWriter writer(instruction);
  switch (instruction.opcode()) {
    case HloOpcode::kAllReduce:
    case HloOpcode::kAllGather:
    case HloOpcode::kReduceScatter:
    case HloOpcode::kAllToAll:
    case HloOpcode::kCollectiveBroadcast:
      break;
    case HloOpcode::kCollectivePermute:
      return Permute(writer, *xla::Cast<xla::HloCollectivePermuteInstruction>(&instruction));
    case HloOpcode::kReplicaId:
    case HloOpcode::kPartitionId:
      return writer.OwnNumber(instruction.opcode() == HloOpcode::kReplicaId
                                  ? program::ParticipantNumber::Replica
                                  : program::ParticipantNumber::Partition);
    case HloOpcode::kRaggedAllToAll:
      return Unsupported(instruction, "pad the parts to one size and use all_to_all");
    default:
      return nullptr;
  }
  ONEXPU_ASSIGN_OR_RETURN(const ParticipantGroups groups,
                          GroupsOf(*xla::Cast<xla::HloCollectiveInstruction>(&instruction)));
  const auto each = [&](const std::function<HloInstruction*(HloInstruction*)>& replace) {
    return ForEachOperand(writer, instruction, replace);
  };
  switch (instruction.opcode()) {
    case HloOpcode::kAllReduce:
      return each([&](HloInstruction* operand) {
        return AllReduce(writer, operand, instruction.to_apply(), groups);
      });
    case HloOpcode::kAllGather: {
      const int64_t dimension =
          xla::Cast<xla::HloAllGatherInstruction>(&instruction)->all_gather_dimension();
      return each(
          [&](HloInstruction* operand) { return AllGather(writer, operand, dimension, groups); });
    }
    case HloOpcode::kReduceScatter: {
      const int64_t dimension =
          xla::Cast<xla::HloReduceScatterInstruction>(&instruction)->scatter_dimension();
      return each([&](HloInstruction* operand) {
        return ReduceScatter(writer, operand, dimension, instruction.to_apply(), groups);
      });
    }
    case HloOpcode::kAllToAll: {
      const auto& all_to_all = *xla::Cast<xla::HloAllToAllInstruction>(&instruction);
      if (!all_to_all.split_dimension().has_value()) {
        return AllToAllOfMany(writer, all_to_all, groups);
      }
      return AllToAll(writer, instruction.mutable_operand(0), *all_to_all.split_dimension(),
                      groups);
    }
    default:
      return each([&](HloInstruction* operand) {
        if (groups.front().size() == 1) return operand;
        return writer.Exchange(CollectiveKind::Broadcast, groups, operand,
                               operand->shape().dimensions());
      });
  }
}

// Replaces a collective of a single participant. Groups and pairs may name others, which do not
// exist.
HloInstruction* Alone(HloInstruction& instruction) {
  CollectiveWriter writer(instruction);
  switch (instruction.opcode()) {
    case HloOpcode::kAllReduce:
    case HloOpcode::kAllGather:
    case HloOpcode::kAllToAll:
    case HloOpcode::kRaggedAllToAll:
    case HloOpcode::kReduceScatter:
    case HloOpcode::kCollectiveBroadcast:
      return ForEachOperand(writer, instruction, [](HloInstruction* operand) { return operand; });
    case HloOpcode::kCollectivePermute: {
      const bool sends_to_itself = !instruction.source_target_pairs().empty();
      if (!instruction.shape().IsArray()) return nullptr;
      return sends_to_itself ? instruction.mutable_operand(0) : writer.Zeros(instruction.shape());
    }
    case HloOpcode::kReplicaId:
    case HloOpcode::kPartitionId:
      return writer.Zeros(instruction.shape());
    default:
      return nullptr;
  }
}

}  // namespace

absl::StatusOr<bool> CollectiveExpander::RunImpl(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  const bool is_alone =
      module->config().replica_count() == 1 && module->config().num_partitions() == 1;
  bool changed = false;
  for (xla::HloComputation* computation : module->computations(execution_threads)) {
    for (HloInstruction* instruction : computation->MakeInstructionPostOrder()) {
      HloInstruction* replacement = nullptr;
      if (is_alone) {
        replacement = Alone(*instruction);
      } else {
        ONEXPU_ASSIGN_OR_RETURN(replacement, Expanded(*instruction));
      }
      if (replacement == nullptr) continue;
      ONEXPU_RETURN_IF_ERROR(instruction->ReplaceAllUsesWith(replacement));
      ONEXPU_RETURN_IF_ERROR(computation->RemoveInstructionAndUnusedOperands(instruction));
      changed = true;
    }
  }
  return changed;
}

}  // namespace onexpu::compiler
