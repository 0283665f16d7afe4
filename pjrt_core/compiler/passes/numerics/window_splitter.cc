#include "pjrt_core/compiler/passes/numerics/window_splitter.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/analysis/combine_order.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/service/hlo_creation_utils.h"
#include "xla/shape_util.h"
#include "xla/window_util.h"

namespace onexpu::compiler {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;
using xla::HloReduceWindowInstruction;

// Splitting saves steps and costs passes through memory. Windows of fewer elements, along one
// dimension and along several, take as long either way.
constexpr int64_t kMinWindow = 48;
constexpr double kMinArea = 200;

// Whether the result does not change with the initial value, however often it takes part.
bool IsIdentity(HloOpcode opcode, const HloInstruction& initial) {
  if (initial.opcode() != HloOpcode::kConstant) return false;
  const xla::Literal& value = initial.literal();
  const xla::PrimitiveType type = value.shape().element_type();
  switch (opcode) {
    case HloOpcode::kAdd:
    case HloOpcode::kOr:
      return value.IsAll(0);
    case HloOpcode::kMultiply:
      return value.IsAll(1);
    case HloOpcode::kAnd:
      return type == xla::PRED ? value.IsAll(1) : value.IsAll(-1);
    case HloOpcode::kMaximum:
      return value == xla::LiteralUtil::MinValue(type);
    case HloOpcode::kMinimum:
      return value == xla::LiteralUtil::MaxValue(type);
    default:
      return false;
  }
}

// Partial sums are stored, so those of narrow floats would be rounded: ReducerWidening makes them
// f32, if that is permitted.
bool RoundsPartialResults(HloOpcode opcode, xla::PrimitiveType type) {
  return (opcode == HloOpcode::kAdd || opcode == HloOpcode::kMultiply) &&
         xla::primitive_util::IsFloatingPointType(type) && xla::primitive_util::BitWidth(type) < 32;
}

bool CanSplit(const HloReduceWindowInstruction& reduction) {
  if (reduction.input_count() != 1 || xla::ShapeUtil::IsZeroElementArray(reduction.shape())) {
    return false;
  }
  const HloInstruction& root = *reduction.to_apply()->root_instruction();
  if (RoundsPartialResults(root.opcode(), reduction.shape().element_type())) return false;
  return CombinesTwoParameters(root) && IsIdentity(root.opcode(), *reduction.init_values().front());
}

// Results are only as many as strides permit, and those of a split window as many as elements.
bool IsLongAlong(const xla::WindowDimension& window) {
  return window.size() >= kMinWindow && window.size() >= kMinWindow / 4 * window.stride() &&
         window.base_dilation() == 1 && !window.window_reversal();
}

// The split of reductions that are like `like`, along one dimension.
class Splitter {
 public:
  Splitter(HloReduceWindowInstruction* like, int64_t dimension)
      : like_(like), dimension_(dimension) {}

  absl::StatusOr<HloInstruction*> Split() {
    const xla::WindowDimension& window = like_->window().dimensions(dimension_);
    ONEXPU_ASSIGN_OR_RETURN(HloInstruction * padded, Pad(window));
    const auto part = static_cast<int64_t>(std::sqrt(static_cast<double>(window.size())));
    const int64_t parts = window.size() / part;
    const int64_t rest = window.size() % part;
    const int64_t results = like_->shape().dimensions(dimension_);
    const int64_t dilation = window.window_dilation();
    ONEXPU_ASSIGN_OR_RETURN(HloInstruction * short_windows, Reduce(padded, part, dilation, 1));
    ONEXPU_ASSIGN_OR_RETURN(HloInstruction * long_windows,
                            Reduce(short_windows, parts, part * dilation, window.stride()));
    ONEXPU_ASSIGN_OR_RETURN(HloInstruction * result, Slice(long_windows, 0, results));
    if (rest == 0) return result;
    const int64_t begin = parts * part * dilation;
    const int64_t end = begin + (results - 1) * window.stride() + (rest - 1) * dilation + 1;
    ONEXPU_ASSIGN_OR_RETURN(HloInstruction * behind, Slice(padded, begin, end));
    ONEXPU_ASSIGN_OR_RETURN(behind, Reduce(behind, rest, dilation, window.stride()));
    return xla::MakeBinaryHlo(like_->to_apply()->root_instruction()->opcode(), result, behind);
  }

 private:
  absl::StatusOr<HloInstruction*> Pad(const xla::WindowDimension& window) {
    HloInstruction* operand = like_->inputs().front();
    if (window.padding_low() == 0 && window.padding_high() == 0) return operand;
    xla::PaddingConfig padding = xla::MakeNoPaddingConfig(operand->shape().dimensions().size());
    padding.mutable_dimensions(dimension_)->set_edge_padding_low(window.padding_low());
    padding.mutable_dimensions(dimension_)->set_edge_padding_high(window.padding_high());
    return xla::MakePadHlo(operand, like_->init_values().front(), padding);
  }

  absl::StatusOr<HloInstruction*> Reduce(HloInstruction* operand, int64_t size, int64_t dilation,
                                         int64_t stride) {
    xla::Window window =
        xla::window_util::MakeWindow(std::vector<int64_t>(operand->shape().dimensions().size(), 1));
    xla::WindowDimension* along = window.mutable_dimensions(dimension_);
    along->set_size(size);
    along->set_window_dilation(dilation);
    along->set_stride(stride);
    xla::Shape shape = operand->shape();
    shape.set_dimensions(dimension_,
                         (shape.dimensions(dimension_) - ((size - 1) * dilation + 1)) / stride + 1);
    HloInstruction* const reduced =
        like_->parent()->AddInstruction(HloInstruction::CreateReduceWindow(
            shape, operand, like_->init_values().front(), window, like_->to_apply()));
    like_->SetupDerivedInstruction(reduced);
    return reduced;
  }

  absl::StatusOr<HloInstruction*> Slice(HloInstruction* operand, int64_t begin, int64_t end) {
    const xla::Shape& shape = operand->shape();
    if (begin == 0 && end == shape.dimensions(dimension_)) return operand;
    std::vector<int64_t> starts(shape.dimensions().size(), 0);
    std::vector<int64_t> limits(shape.dimensions().begin(), shape.dimensions().end());
    starts[dimension_] = begin;
    limits[dimension_] = end;
    return xla::MakeSliceHlo(operand, starts, limits,
                             std::vector<int64_t>(shape.dimensions().size(), 1));
  }

  HloReduceWindowInstruction* const like_;
  const int64_t dimension_;
};

// All windows along the other dimensions first, then those along `dimension`.
absl::StatusOr<HloInstruction*> Separate(HloReduceWindowInstruction* reduction, int64_t dimension) {
  xla::Window others = reduction->window();
  xla::Window along =
      xla::window_util::MakeWindow(std::vector<int64_t>(others.dimensions().size(), 1));
  *along.mutable_dimensions(dimension) = others.dimensions(dimension);
  *others.mutable_dimensions(dimension) = xla::window_util::MakeWindow({1}).dimensions(0);
  xla::Shape shape = reduction->shape();
  shape.set_dimensions(dimension, reduction->inputs().front()->shape().dimensions(dimension));
  HloInstruction* const first =
      reduction->parent()->AddInstruction(HloInstruction::CreateReduceWindow(
          shape, reduction->inputs().front(), reduction->init_values().front(), others,
          reduction->to_apply()));
  reduction->SetupDerivedInstruction(first);
  return reduction->parent()->AddInstruction(HloInstruction::CreateReduceWindow(
      reduction->shape(), first, reduction->init_values().front(), along, reduction->to_apply()));
}

bool IsTrivial(const xla::WindowDimension& window) {
  return window.size() == 1 && window.padding_low() == 0 && window.padding_high() == 0 &&
         window.stride() == 1 && window.base_dilation() == 1;
}

// Along which dimension to split, and whether the window has elements along others.
struct Choice {
  int64_t dimension;
  bool has_others;
};

std::optional<Choice> Choose(const xla::Window& window) {
  std::optional<int64_t> first;
  int64_t dimensions = 0;
  bool is_long = false;
  double steps = 1;  // for each element of the operand
  for (int64_t i = 0; i < window.dimensions().size(); ++i) {
    const xla::WindowDimension& along = window.dimensions(i);
    if (IsTrivial(along)) continue;
    ++dimensions;
    steps *= static_cast<double>(along.size()) / static_cast<double>(along.stride());
    if (first.has_value() && (is_long || !IsLongAlong(along))) continue;
    first = i;
    is_long = IsLongAlong(along);
  }
  if (!is_long && (dimensions < 2 || steps < kMinArea)) return std::nullopt;
  return Choice{*first, dimensions > 1};
}

// What replaces the reduction; null if nothing does.
absl::StatusOr<HloInstruction*> Rewrite(HloReduceWindowInstruction* reduction) {
  const std::optional<Choice> choice = Choose(reduction->window());
  if (!choice.has_value() || !CanSplit(*reduction)) return nullptr;
  return choice->has_others ? Separate(reduction, choice->dimension)
                            : Splitter(reduction, choice->dimension).Split();
}

}  // namespace

bool WindowSplitter::IsLong(const xla::Window& window) { return Choose(window).has_value(); }

absl::StatusOr<bool> WindowSplitter::RunImpl(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (xla::HloComputation* computation : module->MakeNonfusionComputations(execution_threads)) {
    for (HloInstruction* instruction : computation->MakeInstructionPostOrder()) {
      auto* reduction = xla::DynCast<HloReduceWindowInstruction>(instruction);
      if (reduction == nullptr) continue;
      ONEXPU_ASSIGN_OR_RETURN(HloInstruction * rewritten, Rewrite(reduction));
      if (rewritten == nullptr) continue;
      ONEXPU_RETURN_IF_ERROR(computation->ReplaceInstruction(reduction, rewritten));
      changed = true;
    }
  }
  return changed;
}

}  // namespace onexpu::compiler
