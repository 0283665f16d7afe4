#include "pjrt_core/compiler/passes/dynamic_shapes/dynamic_results.h"

#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/passes/dynamic_shapes/dynamic_shape_writer.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_input_output_alias_config.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/layout_util.h"
#include "xla/shape_layout.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;

absl::Status Unsupported(const HloInstruction* result, int64_t number, absl::string_view why) {
  return absl::UnimplementedError(absl::StrCat(
      "onexpu: result ", number, " (op %", result->name(), ", ", result->metadata().op_type(), " ",
      result->metadata().op_name(), ") of shape ", result->shape().ToString(), ": ", why));
}

absl::Status Check(const xla::HloModule& module, const HloInstruction* result, int64_t number,
                   const xla::Shape& layout) {
  if (module.config().replica_count() * module.config().num_partitions() != 1) {
    return Unsupported(result, number,
                       "sizes that are known only at run time, of a program that several devices "
                       "run together; make its size static");
  }
  if (!result->shape().IsArray()) {
    return Unsupported(result, number, "sizes that are known only at run time, in a nested tuple");
  }
  if (layout.has_layout() && !xla::LayoutUtil::IsMonotonicWithDim0Major(layout.layout())) {
    return Unsupported(
        result, number,
        "sizes that are known only at run time, in another layout than row-major; leave its layout "
        "to the compiler");
  }
  if (xla::ShapeUtil::ElementsIn(result->shape()) > std::numeric_limits<int32_t>::max()) {
    return Unsupported(result, number,
                       "sizes that are known only at run time, beyond 2^31 elements");
  }
  return absl::OkStatus();
}

// The elements inside of the sizes, in row-major order, then any others.
HloInstruction* Pack(const DynamicShapeWriter& writer, HloInstruction* array) {
  HloInstruction* padded = writer.Static(array);
  const xla::Shape& shape = padded->shape();
  const auto rank = static_cast<int64_t>(shape.dimensions().size());
  bool is_packed = true;  // only the first dimension is dynamic
  for (int64_t d = 1; d < rank; ++d)
    is_packed = is_packed && !array->shape().is_dynamic_dimension(d);
  const int64_t count = xla::ShapeUtil::ElementsIn(shape);
  if (is_packed || count == 0) return padded;

  const xla::Shape indices = xla::ShapeUtil::MakeShape(xla::S32, {count});
  const auto broadcast = [&](HloInstruction* scalar) {
    return writer.Add(HloInstruction::CreateBroadcast(indices, scalar, {}));
  };
  // Element i of the packed array is at the place in the padded one that has the same coordinates.
  HloInstruction* rest = writer.Add(HloInstruction::CreateIota(indices, 0));
  HloInstruction* place = broadcast(writer.Constant(0));
  int64_t stride = 1;
  for (int64_t d = rank - 1; d >= 0; --d) {
    HloInstruction* size = writer.Size(array, d);
    size = broadcast(writer.Compute(HloOpcode::kMaximum, size, 1));
    HloInstruction* coordinate = d == 0 ? rest : writer.Compute(HloOpcode::kRemainder, rest, size);
    rest = writer.Compute(HloOpcode::kDivide, rest, size);
    place = writer.Compute(
        HloOpcode::kAdd, place,
        writer.Compute(HloOpcode::kMultiply, coordinate, broadcast(writer.Constant(stride))));
    stride *= shape.dimensions(d);
  }
  xla::GatherDimensionNumbers numbers;
  numbers.add_collapsed_slice_dims(0);
  numbers.add_start_index_map(0);
  numbers.set_index_vector_dim(1);
  const xla::Shape flat = xla::ShapeUtil::MakeShape(shape.element_type(), {count});
  HloInstruction* packed = writer.Add(HloInstruction::CreateGather(
      flat, writer.Add(HloInstruction::CreateReshape(flat, padded)), place, numbers,
      /*slice_sizes=*/{1}, /*indices_are_sorted=*/false));
  return writer.Add(HloInstruction::CreateReshape(shape, packed));
}

// The sizes of all dynamic dimensions, in one array.
HloInstruction* Sizes(const DynamicShapeWriter& writer, absl::Span<HloInstruction* const> results,
                      absl::Span<const DynamicDimension> dimensions) {
  std::vector<HloInstruction*> sizes;
  const xla::Shape one = xla::ShapeUtil::MakeShape(xla::S32, {1});
  for (const DynamicDimension& dynamic : dimensions) {
    sizes.push_back(writer.Add(HloInstruction::CreateReshape(
        one, writer.Size(results[dynamic.result], dynamic.dimension))));
  }
  return writer.Add(HloInstruction::CreateConcatenate(
      xla::ShapeUtil::MakeShape(xla::S32, {static_cast<int64_t>(sizes.size())}), sizes, 0));
}

// Restores the input-output aliases of static results, under their new indices. Results of dynamic
// size lose theirs: the size of a donated parameter is static.
absl::Status KeepAliases(const xla::HloInputOutputAliasConfig& aliases, const xla::Shape& before,
                         xla::HloModule& module) {
  xla::HloInputOutputAliasConfig kept(module.entry_computation()->root_instruction()->shape());
  ONEXPU_RETURN_IF_ERROR(aliases.ForEachAliasWithStatus(
      [&](const xla::ShapeIndex& output,
          const xla::HloInputOutputAliasConfig::Alias& alias) -> absl::Status {
        if (xla::ShapeUtil::GetSubshape(before, output).is_dynamic()) return absl::OkStatus();
        return kept.SetUpAlias(before.IsTuple() ? output : xla::ShapeIndex{0},
                               alias.parameter_number, alias.parameter_index, alias.kind);
      }));
  module.set_input_output_alias_config(std::move(kept));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<DynamicDimension>> PackDynamicResults(xla::HloModule& module) {
  std::vector<DynamicDimension> dimensions;
  xla::HloComputation& entry = *module.entry_computation();
  HloInstruction* root = entry.root_instruction();
  const xla::Shape before = root->shape();
  if (!before.is_dynamic()) return dimensions;
  const xla::Shape& layout = module.entry_computation_layout().result_shape();
  const DynamicShapeWriter writer(root);
  std::vector<HloInstruction*> results = {root};
  if (before.IsTuple()) {
    results.clear();
    for (int64_t i = 0; i < static_cast<int64_t>(before.tuple_shapes().size()); ++i) {
      results.push_back(root->opcode() == HloOpcode::kTuple
                            ? root->mutable_operand(i)
                            : writer.Add(HloInstruction::CreateGetTupleElement(root, i)));
    }
  }
  std::vector<HloInstruction*> packed;
  std::vector<xla::Shape> shapes;
  for (int64_t i = 0; i < static_cast<int64_t>(results.size()); ++i) {
    HloInstruction* result = results[i];
    shapes.push_back(before.IsTuple() ? layout.tuple_shapes(i) : layout);
    packed.push_back(result);
    if (!result->shape().is_dynamic()) continue;
    ONEXPU_RETURN_IF_ERROR(Check(module, result, i, shapes.back()));
    for (int64_t d = 0; d < static_cast<int64_t>(result->shape().dimensions().size()); ++d) {
      if (result->shape().is_dynamic_dimension(d)) dimensions.push_back({i, d});
    }
    packed.back() = Pack(writer, result);
    shapes.back().clear_dynamic_dimensions();
  }
  packed.push_back(Sizes(writer, results, dimensions));
  shapes.push_back(packed.back()->shape());
  xla::LayoutUtil::SetToDefaultLayout(&shapes.back());

  const xla::HloInputOutputAliasConfig aliases = module.input_output_alias_config();
  HloInstruction* after = writer.Add(HloInstruction::CreateTuple(packed));
  // A root of another shape loses all aliases.
  entry.set_root_instruction(after, /*accept_different_shape=*/true);
  if (before.IsTuple() && root->IsDead()) ONEXPU_RETURN_IF_ERROR(entry.RemoveInstruction(root));
  *module.mutable_entry_computation_layout()->mutable_result_layout() =
      xla::ShapeLayout(xla::ShapeUtil::MakeTupleShape(shapes));
  ONEXPU_RETURN_IF_ERROR(KeepAliases(aliases, before, module));
  return dimensions;
}

}  // namespace onexpu::compiler
