#include "pjrt_core/compiler/passes/dynamic_shapes/dynamic_operand_rewriter.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/passes/dynamic_shapes/dynamic_shape_writer.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal_util.h"
#include "xla/shape_util.h"
#include "xla/window_util.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;

int64_t Rank(const HloInstruction* instruction) {
  return static_cast<int64_t>(instruction->shape().dimensions().size());
}

bool HasDynamicOperand(const HloInstruction* instruction) {
  return absl::c_any_of(instruction->operands(), [](const HloInstruction* operand) {
    return operand->shape().IsArray() && operand->shape().is_dynamic();
  });
}

absl::Status Unsupported(const HloInstruction* instruction, absl::string_view why) {
  return absl::UnimplementedError(absl::StrCat(why, ": ", instruction->ToString()));
}

xla::Shape StaticShape(xla::Shape shape) {
  shape.clear_dynamic_dimensions();
  return shape;
}

// The size of a dimension after dilation and padding, at least zero.
HloInstruction* PaddedSize(const DynamicShapeWriter& rewrite, HloInstruction* size,
                           int64_t dilation, int64_t low, int64_t high) {
  if (dilation > 1) {
    size = rewrite.Compute(HloOpcode::kSubtract,
                           rewrite.Compute(HloOpcode::kMultiply, size, dilation), dilation - 1);
    size = rewrite.AtLeastZero(size);
  }
  return rewrite.AtLeastZero(rewrite.Compute(HloOpcode::kAdd, size, low + high));
}

// How many windows fit.
HloInstruction* WindowCount(const DynamicShapeWriter& rewrite, HloInstruction* size,
                            const xla::WindowDimension& window) {
  const int64_t reach = xla::window_util::DilatedBound(window.size(), window.window_dilation());
  size = PaddedSize(rewrite, size, window.base_dilation(), window.padding_low(),
                    window.padding_high());
  size = rewrite.Compute(HloOpcode::kSubtract, size, reach - window.stride());
  size = rewrite.AtLeastZero(size);
  return rewrite.Compute(HloOpcode::kDivide, size, window.stride());
}

absl::StatusOr<bool> RewriteReduceWindow(HloInstruction* instruction) {
  auto* reduce = xla::Cast<xla::HloReduceWindowInstruction>(instruction);
  const xla::Window& window = reduce->window();
  const int64_t rank = window.dimensions_size();
  std::vector<int64_t> masked;
  std::vector<HloInstruction*> sizes(rank, nullptr);
  const DynamicShapeWriter rewrite(instruction);
  for (HloInstruction* input : reduce->inputs()) {
    for (int64_t d = 0; d < rank; ++d) {
      if (sizes[d] != nullptr || !input->shape().is_dynamic_dimension(d)) continue;
      sizes[d] = rewrite.Size(input, d);
      if (xla::window_util::IsTrivialWindowDimension(window.dimensions(d))) continue;
      masked.push_back(d);
      sizes[d] = WindowCount(rewrite, sizes[d], window.dimensions(d));
    }
  }
  if (masked.empty()) return false;
  std::vector<HloInstruction*> operands;
  for (int64_t i = 0; i < reduce->input_count(); ++i) {
    operands.push_back(rewrite.Masked(reduce->inputs()[i], masked, reduce->init_values()[i]));
  }
  absl::c_copy(reduce->init_values(), std::back_inserter(operands));
  xla::Shape shape = reduce->shape();
  xla::ShapeUtil::ForEachMutableSubshape(&shape, [](xla::Shape* part, const xla::ShapeIndex&) {
    if (part->IsArray()) part->clear_dynamic_dimensions();
  });
  HloInstruction* result = rewrite.Add(reduce->CloneWithNewOperands(shape, operands));
  const auto with_sizes = [&](HloInstruction* array, const xla::Shape& original) {
    for (int64_t d = 0; d < rank; ++d) {
      if (original.is_dynamic_dimension(d) && sizes[d] != nullptr) {
        array = rewrite.SetSize(array, d, sizes[d]);
      }
    }
    return array;
  };
  if (!shape.IsTuple()) {
    ONEXPU_RETURN_IF_ERROR(rewrite.ReplaceBy(with_sizes(result, reduce->shape())));
    return true;
  }
  std::vector<HloInstruction*> elements;
  for (int64_t i = 0; i < reduce->input_count(); ++i) {
    elements.push_back(with_sizes(rewrite.Add(HloInstruction::CreateGetTupleElement(result, i)),
                                  reduce->shape().tuple_shapes(i)));
  }
  ONEXPU_RETURN_IF_ERROR(rewrite.ReplaceBy(rewrite.Add(HloInstruction::CreateTuple(elements))));
  return true;
}

absl::StatusOr<bool> RewriteSlice(HloInstruction* slice) {
  HloInstruction* operand = slice->mutable_operand(0);
  const auto is_cut = [&](int64_t d) {
    return slice->shape().is_dynamic_dimension(d) && operand->shape().is_dynamic_dimension(d) &&
           (slice->slice_starts(d) != 0 ||
            slice->slice_limits(d) != operand->shape().dimensions(d) ||
            slice->slice_strides(d) != 1);
  };
  bool is_any_cut = false;
  for (int64_t d = 0; d < Rank(slice); ++d) is_any_cut = is_any_cut || is_cut(d);
  if (!is_any_cut) return false;
  const DynamicShapeWriter rewrite(slice);
  HloInstruction* result = rewrite.Add(
      slice->CloneWithNewOperands(StaticShape(slice->shape()), {rewrite.Static(operand)}));
  for (int64_t d = 0; d < Rank(slice); ++d) {
    if (!operand->shape().is_dynamic_dimension(d) || !slice->shape().is_dynamic_dimension(d)) {
      continue;
    }
    const int64_t stride = slice->slice_strides(d);
    HloInstruction* size =
        rewrite.Compute(HloOpcode::kMinimum, rewrite.Size(operand, d), slice->slice_limits(d));
    size = rewrite.Compute(HloOpcode::kSubtract, size, slice->slice_starts(d) - (stride - 1));
    size = rewrite.AtLeastZero(size);
    size = rewrite.Compute(HloOpcode::kDivide, size, stride);
    result = rewrite.SetSize(result, d, size);
  }
  ONEXPU_RETURN_IF_ERROR(rewrite.ReplaceBy(result));
  return true;
}

// A part of a dimension, which begins where the program says, has a static size. The padder has no
// rule for parts of dynamic dimensions.
absl::StatusOr<bool> RewriteDynamicSlice(HloInstruction* slice) {
  HloInstruction* operand = slice->mutable_operand(0);
  const auto is_part = [&](int64_t d) {
    const int64_t size = slice->shape().dimensions(d);
    return operand->shape().is_dynamic_dimension(d) && size != 1 &&
           size != operand->shape().dimensions(d);
  };
  bool is_any_part = false;
  for (int64_t d = 0; d < Rank(slice); ++d) is_any_part = is_any_part || is_part(d);
  if (!is_any_part) return false;
  const DynamicShapeWriter rewrite(slice);
  std::vector<HloInstruction*> operands(slice->operands().begin(), slice->operands().end());
  operands[0] = rewrite.Static(operand);
  HloInstruction* result =
      rewrite.Add(slice->CloneWithNewOperands(StaticShape(slice->shape()), operands));
  for (int64_t d = 0; d < Rank(slice); ++d) {
    if (!operand->shape().is_dynamic_dimension(d) || slice->shape().dimensions(d) == 1 ||
        is_part(d)) {
      continue;
    }
    result = rewrite.SetSize(result, d, rewrite.Size(operand, d));
  }
  ONEXPU_RETURN_IF_ERROR(rewrite.ReplaceBy(result));
  return true;
}

absl::StatusOr<bool> RewritePad(HloInstruction* pad) {
  HloInstruction* operand = pad->mutable_operand(0);
  const xla::PaddingConfig& config = pad->padding_config();
  std::vector<int64_t> masked;
  for (int64_t d = 0; d < Rank(pad); ++d) {
    if (operand->shape().is_dynamic_dimension(d)) masked.push_back(d);
  }
  if (masked.empty()) return false;
  const DynamicShapeWriter rewrite(pad);
  HloInstruction* padding = pad->mutable_operand(1);
  HloInstruction* result = rewrite.Add(pad->CloneWithNewOperands(
      StaticShape(pad->shape()), {rewrite.Masked(operand, masked, padding), padding}));
  for (const int64_t d : masked) {
    const auto& dimension = config.dimensions(static_cast<int>(d));
    result = rewrite.SetSize(
        result, d,
        PaddedSize(rewrite, rewrite.Size(operand, d), dimension.interior_padding() + 1,
                   dimension.edge_padding_low(), dimension.edge_padding_high()));
  }
  ONEXPU_RETURN_IF_ERROR(rewrite.ReplaceBy(result));
  return true;
}

// The sizes of the first `batch` dimensions of the operand for the result.
HloInstruction* WithBatchSizes(const DynamicShapeWriter& rewrite, HloInstruction* result,
                               HloInstruction* operand, int64_t batch) {
  for (int64_t d = 0; d < batch; ++d) {
    if (!operand->shape().is_dynamic_dimension(d)) continue;
    result = rewrite.SetSize(result, d, rewrite.Size(operand, d));
  }
  return result;
}

absl::StatusOr<bool> RewriteCholesky(HloInstruction* cholesky) {
  HloInstruction* operand = cholesky->mutable_operand(0);
  const DynamicShapeWriter rewrite(cholesky);
  HloInstruction* result = rewrite.Add(cholesky->CloneWithNewOperands(
      StaticShape(cholesky->shape()), {rewrite.ContinuedByIdentity(operand)}));
  ONEXPU_RETURN_IF_ERROR(
      rewrite.ReplaceBy(WithBatchSizes(rewrite, result, operand, Rank(operand))));
  return true;
}

// Rows of right-hand sides beyond the matrix are zero, and so are the solutions.
absl::StatusOr<bool> RewriteTriangularSolve(HloInstruction* solve) {
  HloInstruction* matrix = solve->mutable_operand(0);
  HloInstruction* sides = solve->mutable_operand(1);
  const int64_t rank = Rank(sides);
  const int64_t along = solve->triangular_solve_options().left_side() ? rank - 2 : rank - 1;
  const DynamicShapeWriter rewrite(solve);
  HloInstruction* result = rewrite.Add(solve->CloneWithNewOperands(
      StaticShape(solve->shape()),
      {rewrite.ContinuedByIdentity(matrix),
       rewrite.Masked(sides, {along}, rewrite.Zero(sides->shape().element_type()))}));
  ONEXPU_RETURN_IF_ERROR(rewrite.ReplaceBy(WithBatchSizes(rewrite, result, sides, rank)));
  return true;
}

// An instruction on matrices or vectors in the last `inner` dimensions of its first operand, and on
// as many batches in each other operand and result.
absl::StatusOr<bool> RewriteBatches(HloInstruction* instruction, int64_t inner) {
  HloInstruction* first = instruction->mutable_operand(0);
  const int64_t batch = Rank(first) - inner;
  for (const HloInstruction* operand : instruction->operands()) {
    for (int64_t d = 0; d < Rank(operand); ++d) {
      if (!operand->shape().is_dynamic_dimension(d) || (d < batch && Rank(operand) >= batch)) {
        continue;
      }
      return Unsupported(instruction,
                         absl::StrCat("dimension ", d, " of operand ", operand->shape().ToString(),
                                      ", which the instruction works along, has a size that is "
                                      "known only at run time"));
    }
  }
  const DynamicShapeWriter rewrite(instruction);
  std::vector<HloInstruction*> operands;
  for (HloInstruction* operand : instruction->operands()) {
    operands.push_back(rewrite.Static(operand));
  }
  xla::Shape shape = instruction->shape();
  xla::ShapeUtil::ForEachMutableSubshape(&shape, [](xla::Shape* part, const xla::ShapeIndex&) {
    if (part->IsArray()) part->clear_dynamic_dimensions();
  });
  HloInstruction* result = rewrite.Add(instruction->CloneWithNewOperands(shape, operands));
  if (!shape.IsTuple()) {
    ONEXPU_RETURN_IF_ERROR(rewrite.ReplaceBy(WithBatchSizes(rewrite, result, first, batch)));
    return true;
  }
  std::vector<HloInstruction*> elements;
  for (int i = 0; i < static_cast<int>(shape.tuple_shapes().size()); ++i) {
    elements.push_back(WithBatchSizes(
        rewrite, rewrite.Add(HloInstruction::CreateGetTupleElement(result, i)), first, batch));
  }
  ONEXPU_RETURN_IF_ERROR(rewrite.ReplaceBy(rewrite.Add(HloInstruction::CreateTuple(elements))));
  return true;
}

// Factorisations of the matrices in the last two dimensions of the first operand.
bool IsFactorization(const HloInstruction* instruction) {
  return instruction->IsCustomCall("LuDecomposition") || instruction->IsCustomCall("Qr") ||
         instruction->IsCustomCall("Eigh") || instruction->IsCustomCall("onexpu.svd") ||
         instruction->IsCustomCall("ProductOfElementaryHouseholderReflectors");
}

// Gives scalar indices a dimension for the vector, which the normalizer of batches otherwise adds
// with a static shape.
absl::StatusOr<bool> RewriteBatchedIndices(HloInstruction* instruction) {
  const int operand =
      instruction->opcode() == HloOpcode::kGather
          ? 1
          : static_cast<int>(
                xla::Cast<xla::HloScatterInstruction>(instruction)->scatter_operand_count());
  HloInstruction* indices = instruction->mutable_operand(operand);
  int64_t vector_dimension = 0;
  bool is_batched = false;
  if (instruction->opcode() == HloOpcode::kGather) {
    const xla::GatherDimensionNumbers& numbers = instruction->gather_dimension_numbers();
    vector_dimension = numbers.index_vector_dim();
    is_batched = numbers.operand_batching_dims_size() > 0;
  } else {
    const xla::ScatterDimensionNumbers& numbers = instruction->scatter_dimension_numbers();
    vector_dimension = numbers.index_vector_dim();
    is_batched = numbers.input_batching_dims_size() > 0;
  }
  if (!is_batched || vector_dimension != Rank(indices) || indices->shape().is_static()) {
    return false;
  }
  std::vector<int64_t> sizes(indices->shape().dimensions().begin(),
                             indices->shape().dimensions().end());
  std::vector<bool> is_dynamic;
  for (int64_t d = 0; d < Rank(indices); ++d) {
    is_dynamic.push_back(indices->shape().is_dynamic_dimension(d));
  }
  sizes.push_back(1);
  is_dynamic.push_back(false);
  const xla::Shape shape =
      xla::ShapeUtil::MakeShape(indices->shape().element_type(), sizes, is_dynamic);
  ONEXPU_RETURN_IF_ERROR(instruction->ReplaceOperandWith(
      operand, DynamicShapeWriter(instruction).Add(HloInstruction::CreateReshape(shape, indices))));
  return true;
}

// The padder lets elements beyond the size of a window overwrite what is in the operand.
absl::Status CheckScatter(const HloInstruction* instruction) {
  const auto* scatter = xla::Cast<xla::HloScatterInstruction>(instruction);
  const xla::ScatterDimensionNumbers& numbers = scatter->scatter_dimension_numbers();
  const xla::Shape& operand = scatter->scatter_operands()[0]->shape();
  const xla::Shape& update = scatter->scatter_updates()[0]->shape();
  int window = 0;
  for (int64_t d = 0; d < static_cast<int64_t>(operand.dimensions().size()); ++d) {
    if (absl::c_linear_search(numbers.inserted_window_dims(), d) ||
        absl::c_linear_search(numbers.input_batching_dims(), d)) {
      continue;
    }
    const int64_t in_update = numbers.update_window_dims(window++);
    if (!update.is_dynamic_dimension(in_update) || operand.is_dynamic_dimension(d)) continue;
    return Unsupported(instruction,
                       "windows of a size that is known only at run time cannot be "
                       "scattered into a dimension of known size");
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> RewriteInstruction(HloInstruction* instruction) {
  if (!HasDynamicOperand(instruction)) return false;
  switch (instruction->opcode()) {
    case HloOpcode::kReduceWindow:
      return RewriteReduceWindow(instruction);
    case HloOpcode::kSlice:
      return RewriteSlice(instruction);
    case HloOpcode::kDynamicSlice:
      return RewriteDynamicSlice(instruction);
    case HloOpcode::kPad:
      return RewritePad(instruction);
    case HloOpcode::kCholesky:
      return RewriteCholesky(instruction);
    case HloOpcode::kTriangularSolve:
      return RewriteTriangularSolve(instruction);
    case HloOpcode::kFft:
      return RewriteBatches(instruction, static_cast<int64_t>(instruction->fft_length().size()));
    case HloOpcode::kCustomCall:
      return IsFactorization(instruction) ? RewriteBatches(instruction, 2) : false;
    case HloOpcode::kGather:
      return RewriteBatchedIndices(instruction);
    case HloOpcode::kScatter:
      ONEXPU_RETURN_IF_ERROR(CheckScatter(instruction));
      return RewriteBatchedIndices(instruction);
    default:
      return false;
  }
}

}  // namespace

absl::StatusOr<bool> DynamicOperandRewriter::RunImpl(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (xla::HloComputation* computation : module->MakeNonfusionComputations(execution_threads)) {
    for (HloInstruction* instruction : computation->MakeInstructionPostOrder()) {
      ONEXPU_ASSIGN_OR_RETURN(const bool rewritten, RewriteInstruction(instruction));
      changed = changed || rewritten;
    }
  }
  return changed;
}

}  // namespace onexpu::compiler
