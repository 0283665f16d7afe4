// One element of a gather.
#include "absl/algorithm/container.h"
#include "pjrt_core/compiler/codegen/elemental/elemental_emitter.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/primitive_util.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {

using llvm::Value;

absl::StatusOr<Value*> EmitGather(FusionContext& context, const xla::HloInstruction& gather,
                                  const Index& index) {
  IndexMath& math = context.index_math();
  const xla::GatherDimensionNumbers& numbers = gather.gather_dimension_numbers();
  const xla::Shape& operand_shape = gather.operand(0)->shape();
  const xla::HloInstruction& starts = *gather.operand(1);
  const int64_t starts_rank = starts.shape().dimensions().size();
  const bool is_signed = xla::primitive_util::IsSignedIntegralType(starts.shape().element_type());

  // The result's dimensions are those of the start indices (batch) and those of the slices
  // (offset).
  std::vector<Value*> batch;
  for (int64_t i = 0; i < index.size(); ++i) {
    if (!absl::c_linear_search(numbers.offset_dims(), i)) batch.push_back(index[i]);
  }
  std::vector<Value*> values(operand_shape.dimensions().size(), math.Constant(0));
  int64_t offset = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t dimension = i;
    if (absl::c_linear_search(numbers.collapsed_slice_dims(), dimension) ||
        absl::c_linear_search(numbers.operand_batching_dims(), dimension)) {
      continue;
    }
    values[i] = index[numbers.offset_dims(offset++)];
  }
  for (int i = 0; i < numbers.operand_batching_dims_size(); ++i) {
    const int64_t from = numbers.start_indices_batching_dims(i);
    values[numbers.operand_batching_dims(i)] =
        batch[from < numbers.index_vector_dim() ? from : from - 1];
  }
  for (int i = 0; i < numbers.start_index_map_size(); ++i) {
    std::vector<Value*> position = batch;
    if (numbers.index_vector_dim() < starts_rank) {
      position.insert(position.begin() + numbers.index_vector_dim(), math.Constant(i));
    }
    TF_ASSIGN_OR_RETURN(Value * start, context.Element(starts, Index(std::move(position))));
    const int64_t dimension = numbers.start_index_map(i);
    const int64_t limit =
        operand_shape.dimensions(dimension) - gather.gather_slice_sizes()[dimension];
    values[dimension] = math.Add(values[dimension], math.ClampStart(start, is_signed, limit));
  }
  return context.Element(*gather.operand(0), Index(std::move(values)));
}

}  // namespace onexpu::compiler
