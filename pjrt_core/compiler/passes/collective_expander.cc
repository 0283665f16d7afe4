#include "pjrt_core/compiler/passes/collective_expander.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "pjrt_core/compiler/passes/collective_call.h"
#include "pjrt_core/program/status_macros.h"
#include "xla/array2d.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout_util.h"
#include "xla/literal_util.h"
#include "xla/service/collective_ops_utils.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

using program::CollectiveKind;
using xla::HloInstruction;
using xla::HloOpcode;
using xla::Shape;

// Up to here everybody gets everything and combines it: one exchange instead of two. In bytes of
// the array; an exchange costs tens of microseconds, in which some hundred thousand bytes are
// copied.
constexpr int64_t kSmallAllReduce = 64 << 10;

std::vector<int64_t> With(absl::Span<const int64_t> dimensions, int64_t place, int64_t size) {
  std::vector<int64_t> result(dimensions.begin(), dimensions.end());
  result.insert(result.begin() + place, size);
  return result;
}

// Instructions beside one collective, with its metadata.
class Writer {
 public:
  explicit Writer(HloInstruction& collective) : collective_(collective) {}

  HloInstruction* Add(std::unique_ptr<HloInstruction> instruction) {
    instruction->set_metadata(collective_.metadata());
    return collective_.parent()->AddInstruction(std::move(instruction));
  }
  HloInstruction* Reshape(HloInstruction* array, absl::Span<const int64_t> dimensions) {
    return Add(HloInstruction::CreateReshape(
        xla::ShapeUtil::MakeShape(array->shape().element_type(), dimensions), array));
  }
  // Moves one dimension to another place.
  HloInstruction* Move(HloInstruction* array, int64_t from, int64_t to) {
    if (from == to) return array;
    std::vector<int64_t> order(array->shape().dimensions().size());
    std::iota(order.begin(), order.end(), 0);
    order.erase(order.begin() + from);
    order.insert(order.begin() + to, from);
    std::vector<int64_t> dimensions;
    for (const int64_t dimension : order) {
      dimensions.push_back(array->shape().dimensions(dimension));
    }
    return Add(HloInstruction::CreateTranspose(
        xla::ShapeUtil::MakeShape(array->shape().element_type(), dimensions), array, order));
  }
  HloInstruction* Zeros(const Shape& shape) {
    HloInstruction* zero =
        Add(HloInstruction::CreateConstant(xla::LiteralUtil::Zero(shape.element_type())));
    return Add(HloInstruction::CreateBroadcast(shape, zero, {}));
  }
  // The first elements of every dimension.
  HloInstruction* Prefix(HloInstruction* array, absl::Span<const int64_t> dimensions) {
    const std::vector<int64_t> zeros(dimensions.size(), 0);
    const std::vector<int64_t> ones(dimensions.size(), 1);
    return Add(HloInstruction::CreateSlice(
        xla::ShapeUtil::MakeShape(array->shape().element_type(), dimensions), array, zeros,
        dimensions, ones));
  }
  // array[place] along the first dimension, which goes.
  HloInstruction* Part(HloInstruction* array, int64_t place) {
    const absl::Span<const int64_t> dimensions = array->shape().dimensions();
    std::vector<int64_t> starts(dimensions.size(), 0);
    std::vector<int64_t> limits(dimensions.begin(), dimensions.end());
    const std::vector<int64_t> strides(dimensions.size(), 1);
    starts[0] = place;
    limits[0] = place + 1;
    std::vector<int64_t> part = limits;
    part[0] = 1;
    HloInstruction* slice = Add(
        HloInstruction::CreateSlice(xla::ShapeUtil::MakeShape(array->shape().element_type(), part),
                                    array, starts, limits, strides));
    return Reshape(slice, dimensions.subspan(1));
  }
  HloInstruction* Exchange(CollectiveKind kind, const ParticipantGroups& groups,
                           HloInstruction* source, absl::Span<const int64_t> dimensions) {
    const Shape shape = xla::ShapeUtil::MakeShape(source->shape().element_type(), dimensions);
    const Shape operand =
        xla::ShapeUtil::MakeShape(source->shape().element_type(), source->shape().dimensions());
    return Add(HloInstruction::CreateCustomCall(shape, {source}, CollectiveTarget(kind), {operand},
                                                ToText(groups)));
  }
  // The replica or the partition that runs this, u32[].
  HloInstruction* OwnNumber(program::ParticipantNumber number) {
    return Add(HloInstruction::CreateCustomCall(xla::ShapeUtil::MakeShape(xla::U32, {}), {},
                                                kParticipantIdTarget, absl::Span<const Shape>{},
                                                ToText(number)));
  }
  // array[place] along the first dimension, which goes; place is s32[], and clamped.
  HloInstruction* PartAt(HloInstruction* array, HloInstruction* place) {
    const absl::Span<const int64_t> dimensions = array->shape().dimensions();
    std::vector<HloInstruction*> starts(
        dimensions.size(),
        Add(HloInstruction::CreateConstant(xla::LiteralUtil::CreateR0<int32_t>(0))));
    starts[0] = place;
    std::vector<int64_t> part(dimensions.begin(), dimensions.end());
    part[0] = 1;
    HloInstruction* slice = Add(HloInstruction::CreateDynamicSlice(
        xla::ShapeUtil::MakeShape(array->shape().element_type(), part), array, starts, part));
    return Reshape(slice, dimensions.subspan(1));
  }

 private:
  HloInstruction& collective_;
};

absl::Status Unsupported(const HloInstruction& collective, absl::string_view why) {
  return absl::UnimplementedError(absl::StrCat(
      "onexpu: ", xla::HloOpcodeString(collective.opcode()), " ", collective.name(), " of ",
      collective.operand(0)->shape().ToString(), " among several devices: ", why));
}

bool AreOfOneSize(const ParticipantGroups& groups) {
  return absl::c_all_of(groups, [&](const std::vector<int64_t>& group) {
    return group.size() == groups.front().size();
  });
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

// [n, ...] -> [...]: a chain, for it keeps the combiner's own types and needs no identity.
HloInstruction* Combine(Writer& writer, HloInstruction* parts, xla::HloComputation* combiner) {
  HloInstruction* result = writer.Part(parts, 0);
  for (int64_t i = 1; i < parts->shape().dimensions(0); ++i) {
    result = writer.Add(
        HloInstruction::CreateMap(result->shape(), {result, writer.Part(parts, i)}, combiner));
  }
  return result;
}

// Among groups of different size: everybody gets everything, and combines what is its group's.
HloInstruction* AllReduceUnevenly(Writer& writer, HloInstruction* array,
                                  xla::HloComputation* combiner, const ParticipantGroups& groups) {
  const xla::HloModuleConfig& config = array->GetModule()->config();
  const int64_t partitions = config.num_partitions();
  const int64_t participants = config.replica_count() * partitions;
  size_t smallest = groups.front().size();
  size_t largest = 0;
  for (const std::vector<int64_t>& group : groups) {
    smallest = std::min(smallest, group.size());
    largest = std::max(largest, group.size());
  }
  // In the row of each participant the members of its group, and -1 where there are no more.
  xla::Array2D<int32_t> members(participants, static_cast<int64_t>(largest), -1);
  for (const std::vector<int64_t>& group : groups) {
    for (const int64_t participant : group) {
      for (size_t i = 0; i < group.size(); ++i) {
        members(participant, static_cast<int64_t>(i)) = static_cast<int32_t>(group[i]);
      }
    }
  }
  const auto binary = [&](HloOpcode opcode, HloInstruction* lhs, HloInstruction* rhs) {
    return writer.Add(HloInstruction::CreateBinary(lhs->shape(), opcode, lhs, rhs));
  };
  const auto constant = [&](xla::Literal literal) {
    return writer.Add(HloInstruction::CreateConstant(std::move(literal)));
  };
  HloInstruction* own =
      binary(HloOpcode::kAdd,
             binary(HloOpcode::kMultiply, writer.OwnNumber(program::ParticipantNumber::Replica),
                    constant(xla::LiteralUtil::CreateR0(static_cast<uint32_t>(partitions)))),
             writer.OwnNumber(program::ParticipantNumber::Partition));
  own = writer.Add(HloInstruction::CreateConvert(xla::ShapeUtil::MakeShape(xla::S32, {}), own));
  HloInstruction* row =
      writer.PartAt(constant(xla::LiteralUtil::CreateR2FromArray2D(members)), own);

  ParticipantGroups everybody(1, std::vector<int64_t>(participants));
  std::iota(everybody[0].begin(), everybody[0].end(), 0);
  HloInstruction* all = writer.Exchange(CollectiveKind::AllGather, everybody, array,
                                        With(array->shape().dimensions(), 0, participants));
  HloInstruction* result = nullptr;
  for (size_t i = 0; i < largest; ++i) {
    HloInstruction* member = writer.Part(row, static_cast<int64_t>(i));
    HloInstruction* part = writer.PartAt(all, member);
    if (i == 0) {
      result = part;
      continue;
    }
    HloInstruction* combined =
        writer.Add(HloInstruction::CreateMap(result->shape(), {result, part}, combiner));
    if (i < smallest) {
      result = combined;
      continue;
    }
    const Shape flag = xla::ShapeUtil::MakeShape(xla::PRED, {});
    HloInstruction* is_there = writer.Add(HloInstruction::CreateCompare(
        flag, member, constant(xla::LiteralUtil::CreateR0<int32_t>(0)),
        xla::ComparisonDirection::kGe));
    is_there = writer.Add(HloInstruction::CreateBroadcast(
        xla::ShapeUtil::ChangeElementType(result->shape(), xla::PRED), is_there, {}));
    result = writer.Add(HloInstruction::CreateTernary(result->shape(), HloOpcode::kSelect, is_there,
                                                      combined, result));
  }
  return result;
}

HloInstruction* AllReduce(Writer& writer, HloInstruction* array, xla::HloComputation* combiner,
                          const ParticipantGroups& groups) {
  if (!AreOfOneSize(groups)) return AllReduceUnevenly(writer, array, combiner, groups);
  const int64_t size = groups.front().size();
  const int64_t elements = xla::ShapeUtil::ElementsIn(array->shape());
  if (size == 1 || elements == 0) return array;
  if (xla::ShapeUtil::ByteSizeOf(array->shape()) <= kSmallAllReduce || elements < size) {
    HloInstruction* all = writer.Exchange(CollectiveKind::AllGather, groups, array,
                                          With(array->shape().dimensions(), 0, size));
    return Combine(writer, all, combiner);
  }
  const int64_t share = (elements + size - 1) / size;
  HloInstruction* flat = writer.Reshape(array, {elements});
  if (share * size != elements) {
    const Shape padded =
        xla::ShapeUtil::MakeShape(array->shape().element_type(), {share * size - elements});
    flat = writer.Add(HloInstruction::CreateConcatenate(
        xla::ShapeUtil::MakeShape(array->shape().element_type(), {share * size}),
        {flat, writer.Zeros(padded)}, 0));
  }
  HloInstruction* shares = writer.Exchange(CollectiveKind::AllToAll, groups, flat, {size * share});
  HloInstruction* combined = Combine(writer, writer.Reshape(shares, {size, share}), combiner);
  HloInstruction* all =
      writer.Exchange(CollectiveKind::AllGather, groups, combined, {size * share});
  if (share * size != elements) all = writer.Prefix(all, {elements});
  return writer.Reshape(all, array->shape().dimensions());
}

// Everybody's array side by side along `dimension`.
HloInstruction* AllGather(Writer& writer, HloInstruction* array, int64_t dimension,
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
HloInstruction* Split(Writer& writer, HloInstruction* array, int64_t dimension, int64_t size) {
  const absl::Span<const int64_t> dimensions = array->shape().dimensions();
  std::vector<int64_t> split = With(dimensions, dimension, size);
  split[dimension + 1] /= size;
  return writer.Move(writer.Reshape(array, split), dimension, 0);
}

HloInstruction* ReduceScatter(Writer& writer, HloInstruction* array, int64_t dimension,
                              xla::HloComputation* combiner, const ParticipantGroups& groups) {
  const int64_t size = groups.front().size();
  if (size == 1) return array;
  HloInstruction* parts = Split(writer, array, dimension, size);
  HloInstruction* received =
      writer.Exchange(CollectiveKind::AllToAll, groups, parts, parts->shape().dimensions());
  return Combine(writer, received, combiner);
}

HloInstruction* AllToAll(Writer& writer, HloInstruction* array, int64_t dimension,
                         const ParticipantGroups& groups) {
  const int64_t size = groups.front().size();
  if (size == 1) return array;
  HloInstruction* parts = Split(writer, array, dimension, size);
  HloInstruction* received =
      writer.Exchange(CollectiveKind::AllToAll, groups, parts, parts->shape().dimensions());
  return writer.Reshape(writer.Move(received, 0, dimension), array->shape().dimensions());
}

// An operand for each member of the group, and a result of each.
HloInstruction* AllToAllOfMany(Writer& writer, const HloInstruction& collective,
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
HloInstruction* ForEachOperand(Writer& writer, const HloInstruction& collective,
                               const std::function<HloInstruction*(HloInstruction*)>& replace) {
  std::vector<HloInstruction*> results;
  for (HloInstruction* operand : collective.operands()) results.push_back(replace(operand));
  if (!collective.shape().IsTuple()) return results.front();
  return writer.Add(HloInstruction::CreateTuple(results));
}

absl::StatusOr<HloInstruction*> Permute(Writer& writer,
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
  Writer writer(instruction);
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

// What stands for a collective that has nobody to talk to. Groups and pairs may name others; they
// are not there.
HloInstruction* Alone(HloInstruction& instruction) {
  Writer writer(instruction);
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
