#include "pjrt_core/compiler/codegen/region/region_work.h"

#include <algorithm>
#include <utility>

#include "pjrt_core/compiler/codegen/elemental/elemental_emitter.h"
#include "pjrt_core/compiler/codegen/kernel/work_group.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {

using llvm::Value;
using xla::HloInstruction;
using xla::HloOpcode;

RegionWork::RegionWork(FusionContext& kernel, int64_t work_items)
    : kernel_(kernel),
      work_items_(work_items),
      item_(work_items == 1 ? kernel.index_math().Constant(0)
                            : kernel.index_math().ToIndexType(LocalId(kernel))) {}

void RegionWork::Synchronize() {
  if (work_items_ > 1) Barrier(kernel_);
}

absl::Status RegionWork::ForEachItem(int64_t count, absl::FunctionRef<absl::Status(Value*)> body) {
  IndexMath& math = kernel_.index_math();
  const int64_t rounds = count / work_items_;
  const int64_t rest = count % work_items_;
  const auto round = [&](Value* number) {
    return body(math.Add(math.Mul(number, work_items_), item_));
  };
  if (rounds == 1)
    TF_RETURN_IF_ERROR(kernel_.If(kernel_.b().getTrue(), [&] { return body(item_); }));
  if (rounds > 1)
    TF_RETURN_IF_ERROR(
        kernel_.For(math.Constant(0), math.Constant(rounds), math.Constant(1), round));
  if (rest == 0) return absl::OkStatus();
  Value* takes_part = kernel_.b().CreateICmpSLT(item_, math.Constant(rest));
  return kernel_.If(takes_part, [&] { return body(math.Add(item_, rounds * work_items_)); });
}

absl::Status RegionWork::ForEachElement(const xla::Shape& shape,
                                        absl::FunctionRef<absl::Status(const Index&)> body) {
  IndexMath& math = kernel_.index_math();
  const int64_t count = xla::ShapeUtil::ElementsIn(shape);
  const int64_t columns =
      shape.dimensions().empty() ? count : shape.dimensions(shape.layout().minor_to_major(0));
  if (columns == count || columns % work_items_ != 0) {
    return ForEachItem(count, [&](Value* number) { return body(math.Delinearize(number, shape)); });
  }
  // All work-items are in one row: what belongs to rows is loaded once for a vector of them.
  const int64_t rounds_per_row = columns / work_items_;
  return kernel_.For(
      math.Constant(0), math.Constant(count / work_items_), math.Constant(1), [&](Value* round) {
        Value* column = math.Add(math.Mul(math.Rem(round, rounds_per_row), work_items_), item_);
        return body(math.InRow(math.Div(round, rounds_per_row), column, shape));
      });
}

absl::Status RegionWork::Emit(const HloInstruction& root, const std::vector<Array>& results) {
  if (const auto* scatter = xla::DynCast<xla::HloScatterInstruction>(&root)) {
    return EmitScatter(*scatter, results);
  }
  if (root.opcode() == HloOpcode::kCustomCall) return EmitLinearAlgebra(root, results);
  std::vector<Output> outputs = OutputsOf(root, results);
  outputs.erase(std::remove_if(outputs.begin(), outputs.end(),
                               [](const Output& output) {
                                 return !output.array->shape.IsArray() ||
                                        xla::ShapeUtil::IsZeroElementArray(output.array->shape);
                               }),
                outputs.end());
  // Outputs of the same dimensions are computed together.
  while (!outputs.empty()) {
    if (UpdatesInPlace(kernel_, outputs[0])) {
      TF_RETURN_IF_ERROR(EmitUpdate(outputs[0]));
      outputs.erase(outputs.begin());
      continue;
    }
    const xla::Shape& shape = outputs[0].array->shape;
    const auto rest = std::partition(outputs.begin(), outputs.end(), [&](const Output& output) {
      return !UpdatesInPlace(kernel_, output) &&
             xla::ShapeUtil::SameDimensions(output.array->shape, shape);
    });
    const std::vector<Output> together(outputs.begin(), rest);
    const std::vector<const HloInstruction*> dots = BlockedDots(together);
    TF_RETURN_IF_ERROR(dots.empty() ? EmitElements(together) : EmitBlockedDots(together, dots));
    outputs.erase(outputs.begin(), rest);
  }
  return absl::OkStatus();
}

absl::Status RegionWork::EmitElements(const std::vector<Output>& outputs) {
  return ForEachElement(outputs[0].array->shape,
                        [&](const Index& index) { return StoreElements(kernel_, outputs, index); });
}

absl::Status RegionWork::EmitUpdate(const Output& output) {
  const xla::Shape& shape = output.instruction->operand(1)->shape();
  if (xla::ShapeUtil::IsZeroElementArray(shape)) return absl::OkStatus();
  return ForEachItem(xla::ShapeUtil::ElementsIn(shape), [&](Value* number) {
    return StoreUpdate(kernel_, output, kernel_.index_math().Delinearize(number, shape));
  });
}

}  // namespace onexpu::compiler
