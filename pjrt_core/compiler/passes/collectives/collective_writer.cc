#include "pjrt_core/compiler/passes/collectives/collective_writer.h"

#include <numeric>
#include <utility>

#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal_util.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {

using program::CollectiveKind;
using xla::HloInstruction;
using xla::Shape;

std::vector<int64_t> With(absl::Span<const int64_t> dimensions, int64_t place, int64_t size) {
  std::vector<int64_t> result(dimensions.begin(), dimensions.end());
  result.insert(result.begin() + place, size);
  return result;
}

HloInstruction* CollectiveWriter::Add(std::unique_ptr<HloInstruction> instruction) {
  instruction->set_metadata(collective_.metadata());
  return collective_.parent()->AddInstruction(std::move(instruction));
}

HloInstruction* CollectiveWriter::Reshape(HloInstruction* array,
                                          absl::Span<const int64_t> dimensions) {
  return Add(HloInstruction::CreateReshape(
      xla::ShapeUtil::MakeShape(array->shape().element_type(), dimensions), array));
}

HloInstruction* CollectiveWriter::Move(HloInstruction* array, int64_t from, int64_t to) {
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

HloInstruction* CollectiveWriter::Zeros(const Shape& shape) {
  HloInstruction* zero =
      Add(HloInstruction::CreateConstant(xla::LiteralUtil::Zero(shape.element_type())));
  return Add(HloInstruction::CreateBroadcast(shape, zero, {}));
}

HloInstruction* CollectiveWriter::Prefix(HloInstruction* array,
                                         absl::Span<const int64_t> dimensions) {
  const std::vector<int64_t> zeros(dimensions.size(), 0);
  const std::vector<int64_t> ones(dimensions.size(), 1);
  return Add(HloInstruction::CreateSlice(
      xla::ShapeUtil::MakeShape(array->shape().element_type(), dimensions), array, zeros,
      dimensions, ones));
}

HloInstruction* CollectiveWriter::Part(HloInstruction* array, int64_t place) {
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

HloInstruction* CollectiveWriter::Exchange(CollectiveKind kind, const ParticipantGroups& groups,
                                           HloInstruction* source,
                                           absl::Span<const int64_t> dimensions) {
  const Shape shape = xla::ShapeUtil::MakeShape(source->shape().element_type(), dimensions);
  const Shape operand =
      xla::ShapeUtil::MakeShape(source->shape().element_type(), source->shape().dimensions());
  return Add(HloInstruction::CreateCustomCall(shape, {source}, CollectiveTarget(kind), {operand},
                                              ToText(groups)));
}

HloInstruction* CollectiveWriter::OwnNumber(program::ParticipantNumber number) {
  return Add(HloInstruction::CreateCustomCall(xla::ShapeUtil::MakeShape(xla::U32, {}), {},
                                              kParticipantIdTarget, absl::Span<const Shape>{},
                                              ToText(number)));
}

HloInstruction* CollectiveWriter::PartAt(HloInstruction* array, HloInstruction* place) {
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

HloInstruction* CollectiveWriter::Combine(HloInstruction* parts, xla::HloComputation* combiner) {
  HloInstruction* result = Part(parts, 0);
  for (int64_t i = 1; i < parts->shape().dimensions(0); ++i) {
    result = Add(HloInstruction::CreateMap(result->shape(), {result, Part(parts, i)}, combiner));
  }
  return result;
}

}  // namespace onexpu::compiler
