#include "pjrt_core/compiler/passes/collectives/all_reduce.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/array2d.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal_util.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

using program::CollectiveKind;
using xla::HloInstruction;
using xla::HloOpcode;
using xla::Shape;

// Up to this many bytes of the array, every participant gathers all data and combines it: one
// exchange instead of two. An exchange costs tens of microseconds, the time to copy some hundred
// thousand bytes.
constexpr int64_t kMaxOneShotBytes = 64 << 10;

// For groups of different size: every participant gathers all data and combines its group's part.
// Exchanging shares would move less, but the size of a share differs between groups, and the
// program has one shape for all.
HloInstruction* AllReduceUnevenly(CollectiveWriter& writer, HloInstruction* array,
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

  ParticipantGroups all_participants(1, std::vector<int64_t>(participants));
  std::iota(all_participants[0].begin(), all_participants[0].end(), 0);
  HloInstruction* all = writer.Exchange(CollectiveKind::AllGather, all_participants, array,
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

}  // namespace

bool AreOfOneSize(const ParticipantGroups& groups) {
  return absl::c_all_of(groups, [&](const std::vector<int64_t>& group) {
    return group.size() == groups.front().size();
  });
}

HloInstruction* AllReduce(CollectiveWriter& writer, HloInstruction* array,
                          xla::HloComputation* combiner, const ParticipantGroups& groups) {
  const int64_t size = groups.front().size();
  const int64_t elements = xla::ShapeUtil::ElementsIn(array->shape());
  if (elements == 0) return array;
  if (!AreOfOneSize(groups)) return AllReduceUnevenly(writer, array, combiner, groups);
  if (size == 1) return array;
  if (xla::ShapeUtil::ByteSizeOf(array->shape()) <= kMaxOneShotBytes || elements < size) {
    HloInstruction* all = writer.Exchange(CollectiveKind::AllGather, groups, array,
                                          With(array->shape().dimensions(), 0, size));
    return writer.Combine(all, combiner);
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
  HloInstruction* combined = writer.Combine(writer.Reshape(shares, {size, share}), combiner);
  HloInstruction* all =
      writer.Exchange(CollectiveKind::AllGather, groups, combined, {size * share});
  if (share * size != elements) all = writer.Prefix(all, {elements});
  return writer.Reshape(all, array->shape().dimensions());
}

}  // namespace onexpu::compiler
