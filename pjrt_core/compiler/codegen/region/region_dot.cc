// Dots inside of regions, a block of rows at a time.
#include "pjrt_core/compiler/analysis/dot_queries.h"
#include "pjrt_core/compiler/codegen/elemental/dot_block.h"
#include "pjrt_core/compiler/codegen/region/region_work.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {

using llvm::Value;
using xla::HloInstruction;

std::vector<const HloInstruction*> RegionWork::BlockedDots(
    const std::vector<Output>& outputs) const {
  std::vector<const HloInstruction*> roots;
  for (const Output& output : outputs) {
    if (!xla::ShapeUtil::EqualIgnoringElementType(output.array->shape, outputs[0].array->shape)) {
      return {};
    }
    roots.push_back(output.instruction);
  }
  return FindBlockedDots(kernel_, roots);
}

absl::Status RegionWork::EmitBlockedDots(const std::vector<Output>& outputs,
                                         const std::vector<const HloInstruction*>& dots) {
  const xla::Shape& shape = outputs[0].array->shape;
  const std::vector<int64_t> outer(shape.dimensions().begin(), shape.dimensions().end() - 1);
  const int64_t columns = shape.dimensions().back();
  const int64_t rows = xla::ShapeUtil::ElementsIn(shape) / columns;
  const int64_t blocks = rows / kDotRows;
  IndexMath& math = kernel_.index_math();
  // The loop over blocks is outside, so that every work-item is at the same rows.
  const auto block = [&](Value* first_row, int64_t count) {
    return ForEachItem(columns, [&](Value* column) {
      std::vector<Index> indices;
      for (int64_t row = 0; row < count; ++row) {
        std::vector<Value*> index =
            math.DelinearizeRowMajor(math.Add(first_row, row), outer).values();
        index.push_back(column);
        indices.emplace_back(std::move(index));
      }
      return EmitDotBlock(kernel_, dots, indices, [&](const Index& index) {
        return StoreElements(kernel_, outputs, index);
      });
    });
  };
  if (blocks > 0) {
    TF_RETURN_IF_ERROR(
        kernel_.For(math.Constant(0), math.Constant(blocks), math.Constant(1),
                    [&](Value* number) { return block(math.Mul(number, kDotRows), kDotRows); }));
  }
  const int64_t rest = rows % kDotRows;
  return rest == 0 ? absl::OkStatus() : block(math.Constant(blocks * kDotRows), rest);
}

}  // namespace onexpu::compiler
