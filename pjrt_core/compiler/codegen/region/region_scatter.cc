// Scatters inside of a region. Elements of the updates that cannot meet in the result are shared by
// the work-items, and each runs through those that may meet in order, so results are the same each
// time.
#include <utility>

#include "pjrt_core/compiler/codegen/elemental/kernel_outputs.h"
#include "pjrt_core/compiler/codegen/region/region_work.h"
#include "pjrt_core/compiler/codegen/schedules/scatter_kernel.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {

using llvm::Value;

absl::Status RegionWork::EmitScatter(const xla::HloScatterInstruction& scatter,
                                     const std::vector<Array>& results) {
  if (xla::ShapeUtil::IsZeroElementArray(results[0].shape)) return absl::OkStatus();
  bool has_copied = false;
  for (int64_t i = 0; i < scatter.scatter_operand_count(); ++i) {
    if (IsInMemoryOf(kernel_, *scatter.operand(i), results[i])) continue;
    TF_RETURN_IF_ERROR(ForEachElement(results[i].shape, [&](const Index& index) -> absl::Status {
      TF_ASSIGN_OR_RETURN(Value * value, kernel_.Element(*scatter.operand(i), index));
      return kernel_.Store(results[i], index, value);
    }));
    has_copied = true;
  }
  const ScatterDimensions dimensions(scatter);
  if (xla::ShapeUtil::IsZeroElementArray(dimensions.updates())) return absl::OkStatus();
  if (has_copied) Synchronize();

  ScatterKernel steps(kernel_, scatter, dimensions);
  steps.CombineInto(results);
  if (scatter.unique_indices()) {
    return ForEachElement(dimensions.updates(), [&](const Index& index) {
      return steps.Update({index}, /*atomic=*/false);
    });
  }
  const std::vector<int64_t> apart = dimensions.Extents(dimensions.apart());
  const std::vector<int64_t> meeting = dimensions.Extents(dimensions.meeting());
  int64_t count = 1;
  for (const int64_t extent : apart) count *= extent;
  return ForEachItem(count, [&](Value* number) {
    const Index at = kernel_.index_math().DelinearizeRowMajor(number, apart);
    return kernel_.ForEach(meeting, [&](absl::Span<Value* const> numbers) {
      std::vector<Value*> element(dimensions.updates().dimensions().size());
      for (size_t i = 0; i < apart.size(); ++i) element[dimensions.apart()[i]] = at[i];
      for (size_t i = 0; i < meeting.size(); ++i) element[dimensions.meeting()[i]] = numbers[i];
      return steps.Update({Index(std::move(element))}, /*atomic=*/false);
    });
  });
}

}  // namespace onexpu::compiler
