#include "pjrt_core/compiler/passes/layout/layout_assignment.h"

#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/analysis/attention_queries.h"
#include "pjrt_core/compiler/analysis/dot_queries.h"
#include "pjrt_core/compiler/analysis/mkl_call.h"
#include "pjrt_core/compiler/passes/onednn/library_call.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout_util.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

xla::Layout ChannelsLast(int64_t batch, int64_t channels, absl::Span<const int64_t> spatial) {
  std::vector<int64_t> minor_to_major = {channels};
  minor_to_major.insert(minor_to_major.end(), spatial.rbegin(), spatial.rend());
  minor_to_major.push_back(batch);
  return xla::LayoutUtil::MakeLayout(minor_to_major);
}

xla::Shape WithLayout(const xla::Shape& shape, const xla::Layout& layout) {
  xla::Shape result = shape;
  *result.mutable_layout() = layout;
  return result;
}

// Of the matrices, when the array holds any; of vectors the only order.
xla::Layout ByColumns(const xla::Shape& shape, bool is_matrix) {
  std::vector<int64_t> minor_to_major(shape.dimensions().size());
  std::iota(minor_to_major.rbegin(), minor_to_major.rend(), 0);
  if (is_matrix) std::swap(minor_to_major[0], minor_to_major[1]);
  return xla::LayoutUtil::MakeLayout(minor_to_major);
}

// Results that have as many dimensions as the operand are matrices.
xla::Shape WithColumns(xla::Shape shape, int64_t rank) {
  xla::ShapeUtil::ForEachMutableSubshape(&shape, [&](xla::Shape* part, const xla::ShapeIndex&) {
    if (!part->IsArray()) return;
    *part->mutable_layout() =
        ByColumns(*part, static_cast<int64_t>(part->dimensions().size()) == rank);
  });
  return shape;
}

// Where all users of a product, or of what only converts it, are one transpose: the layout in which
// that is by rows.
std::optional<xla::Layout> LayoutForTransposes(const xla::HloInstruction& product) {
  if (product.users().empty() || product.IsRoot()) return std::nullopt;
  const xla::HloInstruction* transpose = product.users()[0];
  if (transpose->opcode() == xla::HloOpcode::kConvert && product.user_count() == 1) {
    return LayoutForTransposes(*transpose);
  }
  for (const xla::HloInstruction* user : product.users()) {
    if (user->opcode() != xla::HloOpcode::kTranspose ||
        user->dimensions() != transpose->dimensions()) {
      return std::nullopt;
    }
  }
  return xla::LayoutUtil::MakeLayout(
      std::vector<int64_t>(transpose->dimensions().rbegin(), transpose->dimensions().rend()));
}

// A handler knows shapes, not layouts; JAX states those of its calls, TensorFlow does not.
bool IsUnconstrainedHandlerCall(const xla::HloInstruction& instruction) {
  const auto* call = xla::DynCast<xla::HloCustomCallInstruction>(&instruction);
  return call != nullptr && !call->layout_constrained() &&
         call->api_version() == xla::CustomCallApiVersion::API_VERSION_TYPED_FFI &&
         !IsLibraryCall(instruction);
}

}  // namespace

absl::Status LayoutAssignment::ConstrainToColumns(const xla::HloInstruction* call) {
  const int64_t rank = call->operand(0)->shape().dimensions().size();
  for (int64_t i = 0; i < call->operand_count(); ++i) {
    const xla::Shape& operand = call->operand(i)->shape();
    ONEXPU_RETURN_IF_ERROR(SetArrayOperandLayout(
        ByColumns(operand, static_cast<int64_t>(operand.dimensions().size()) == rank), call, i));
  }
  return SetInstructionLayout(WithColumns(call->shape(), rank), call);
}

absl::Status LayoutAssignment::ConstrainToTranspose(const xla::HloInstruction* product) {
  ONEXPU_ASSIGN_OR_RETURN(const MatmulConfig config, MatmulConfigOf(*product));
  const std::optional<xla::Layout> layout = LayoutForTransposes(*product);
  if (!layout.has_value()) return absl::OkStatus();
  // Only a row or a column may be what lies together.
  for (const int64_t dimension : layout->minor_to_major()) {
    if (product->shape().dimensions(dimension) == 1) continue;
    if (dimension < config.batch_dimensions) return absl::OkStatus();
    break;
  }
  return SetInstructionLayout(WithLayout(product->shape(), *layout), product);
}

absl::Status LayoutAssignment::ConstrainToRows(const xla::HloInstruction* product) {
  ONEXPU_ASSIGN_OR_RETURN(const MatmulConfig config, MatmulConfigOf(*product));
  for (int64_t number = 0; number < 2; ++number) {
    const xla::HloInstruction& operand = *product->operand(number);
    const int64_t batch = config.batch_dimensions;
    if (static_cast<int64_t>(operand.shape().dimensions().size()) != batch + 2 ||
        !IsLoopInvariant(operand)) {
      continue;
    }
    const int64_t contracted = number == 0 ? config.lhs_contracting : config.rhs_contracting;
    const int64_t free = 2 * batch + 1 - contracted;
    const int64_t columns = number == 0 ? contracted : free;
    std::vector<int64_t> minor_to_major = {columns, 2 * batch + 1 - columns};
    for (int64_t d = batch - 1; d >= 0; --d) minor_to_major.push_back(d);
    ONEXPU_RETURN_IF_ERROR(
        SetArrayOperandLayout(xla::LayoutUtil::MakeLayout(minor_to_major), product, number));
  }
  return absl::OkStatus();
}

absl::Status LayoutAssignment::ConstrainToBlocks(const xla::HloInstruction* dot) {
  const std::optional<DotColumns> columns = ColumnsOf(*dot);
  ONEXPU_RETURN_IF_ERROR(
      SetArrayOperandLayout(LayoutByColumns(*dot, *columns), dot, columns->operand));
  const int64_t rank = dot->shape().dimensions().size();
  std::optional<xla::Layout> layout = LayoutForTransposes(*dot);
  if (!layout.has_value() || layout->minor_to_major(0) != rank - 1) {
    layout = xla::LayoutUtil::MakeDescendingLayout(rank);
  }
  return SetInstructionLayout(WithLayout(dot->shape(), *layout), dot);
}

absl::Status LayoutAssignment::ConstrainAttention(const xla::HloInstruction* fusion) {
  const std::optional<Attention> attention = FindAttention(*fusion->fused_expression_root());
  const auto constrain = [&](const xla::HloInstruction& operand, const xla::Layout& layout) {
    return SetArrayOperandLayout(layout, fusion, operand.parameter_number());
  };
  ONEXPU_RETURN_IF_ERROR(constrain(attention->keys(), LayoutOfKeys(*attention)));
  // Keys that are values too lie for one of the two.
  if (attention->values != &attention->keys()) {
    ONEXPU_RETURN_IF_ERROR(constrain(*attention->values, LayoutOfValues(*attention)));
  }
  const std::optional<xla::Layout> layout = LayoutForTransposes(*fusion);
  if (!layout.has_value()) return absl::OkStatus();
  return SetInstructionLayout(WithLayout(fusion->shape(), *layout), fusion);
}

absl::Status LayoutAssignment::ConstrainToLines(const xla::HloInstruction* fft) {
  const int64_t rank = fft->shape().dimensions().size();
  xla::Layout operand_layout = xla::LayoutUtil::MakeDescendingLayout(rank);
  if (const xla::HloInstruction* operand = fft->operand(0);
      operand->opcode() == xla::HloOpcode::kTranspose) {
    for (int64_t d = 0; d < rank; ++d) {
      operand_layout.set_minor_to_major(rank - 1 - operand->dimensions(d), d);
    }
    ONEXPU_RETURN_IF_ERROR(SetArrayOperandLayout(operand_layout, fft, 0));
  }
  const xla::Layout layout = LayoutForTransposes(*fft).value_or(operand_layout);
  return SetInstructionLayout(WithLayout(fft->shape(), layout), fft);
}

absl::Status LayoutAssignment::ConstrainToDefaults(const xla::HloInstruction* call) {
  const auto by_rows = [](xla::Shape shape) {
    xla::LayoutUtil::SetToDefaultLayout(&shape);
    return shape;
  };
  for (int64_t i = 0; i < call->operand_count(); ++i) {
    ONEXPU_RETURN_IF_ERROR(SetOperandLayout(by_rows(call->operand(i)->shape()), call, i));
  }
  return SetInstructionLayout(by_rows(call->shape()), call);
}

absl::Status LayoutAssignment::AddBackendConstraints(LayoutConstraints* constraints) {
  for (const xla::HloInstruction* call : constraints->computation()->instructions()) {
    if (IsUnconstrainedHandlerCall(*call)) ONEXPU_RETURN_IF_ERROR(ConstrainToDefaults(call));
    if (IsByColumns(*call)) ONEXPU_RETURN_IF_ERROR(ConstrainToColumns(call));
    if (IsMatmul(*call)) {
      ONEXPU_RETURN_IF_ERROR(ConstrainToTranspose(call));
      ONEXPU_RETURN_IF_ERROR(ConstrainToRows(call));
    }
    if (IsAttention(*call)) ONEXPU_RETURN_IF_ERROR(ConstrainAttention(call));
    if (IsBlockedDot(*call)) ONEXPU_RETURN_IF_ERROR(ConstrainToBlocks(call));
    if (call->opcode() == xla::HloOpcode::kFft) ONEXPU_RETURN_IF_ERROR(ConstrainToLines(call));
    if (!IsConvolutionCall(*call)) continue;
    const xla::ConvolutionDimensionNumbers& roles = call->convolution_dimension_numbers();
    const xla::Layout source =
        ChannelsLast(roles.input_batch_dimension(), roles.input_feature_dimension(),
                     roles.input_spatial_dimensions());
    const xla::Layout destination =
        ChannelsLast(roles.output_batch_dimension(), roles.output_feature_dimension(),
                     roles.output_spatial_dimensions());
    ONEXPU_ASSIGN_OR_RETURN(const ConvolutionConfig config, ConvolutionConfigOf(*call));
    switch (config.kind) {
      case program::ConvolutionKind::Forward:
        ONEXPU_RETURN_IF_ERROR(SetArrayOperandLayout(source, call, 0));
        ONEXPU_RETURN_IF_ERROR(SetInstructionLayout(WithLayout(call->shape(), destination), call));
        break;
      case program::ConvolutionKind::BackwardData:
        ONEXPU_RETURN_IF_ERROR(SetArrayOperandLayout(destination, call, 0));
        ONEXPU_RETURN_IF_ERROR(SetInstructionLayout(WithLayout(call->shape(), source), call));
        break;
      case program::ConvolutionKind::BackwardWeights:
        ONEXPU_RETURN_IF_ERROR(SetArrayOperandLayout(source, call, 0));
        ONEXPU_RETURN_IF_ERROR(SetArrayOperandLayout(destination, call, 1));
        break;
    }
  }
  return absl::OkStatus();
}

}  // namespace onexpu::compiler
