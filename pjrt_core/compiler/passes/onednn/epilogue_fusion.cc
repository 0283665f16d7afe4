#include "pjrt_core/compiler/passes/onednn/epilogue_fusion.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/passes/onednn/activation_pattern.h"
#include "pjrt_core/compiler/passes/onednn/library_call.h"
#include "pjrt_core/compiler/passes/onednn/library_types.h"
#include "pjrt_core/compiler/passes/support/constant_scalar.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout_util.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

using program::Activation;
using xla::HloInstruction;
using xla::HloOpcode;

// The vector that `value` repeats along every dimension but `dimension`, or null.
HloInstruction* BroadcastVector(HloInstruction* value, int64_t dimension) {
  if (value->opcode() != HloOpcode::kBroadcast) return nullptr;
  HloInstruction* vector = value->mutable_operand(0);
  int64_t sized = -1;  // the operand's dimension that has more than one element
  const auto dimensions = vector->shape().dimensions();
  for (int64_t i = 0; i < static_cast<int64_t>(dimensions.size()); ++i) {
    if (dimensions[i] == 1 && value->dimensions(i) != dimension) continue;
    if (sized != -1) return nullptr;
    sized = i;
  }
  if (sized == -1 || value->dimensions(sized) != dimension) return nullptr;
  if (dimensions.size() == 1) return vector;
  return vector->parent()->AddInstruction(HloInstruction::CreateReshape(
      xla::ShapeUtil::MakeShape(vector->shape().element_type(), {dimensions[sized]}), vector));
}

// A product that is called as BLAS has no epilogue but a scale. That saves some 100 us of a
// primitive's host task (cpu_device/host_call.h): more than a kernel for the epilogue costs, up to
// here. Multiply-adds.
constexpr int64_t kMaxProductsForScaleOnly = 128 << 20;

class Fuser {
 public:
  Fuser(HloInstruction* call, const Target& target, bool layout_sensitive)
      : call_(call), target_(target), layout_sensitive_(layout_sensitive) {}

  // Absorbs users until one does not fit. Returns whether any did.
  absl::StatusOr<bool> Run() {
    // The library would compute on sums of integers in f32.
    if (!xla::ShapeUtil::ElementIsFloating(call_->shape())) return false;
    if (IsConvolutionCall(*call_)) {
      ONEXPU_ASSIGN_OR_RETURN(const ConvolutionConfig config, ConvolutionConfigOf(*call_));
      if (config.kind != program::ConvolutionKind::Forward) return false;
      epilogue_ = config.epilogue;
      feature_ = call_->convolution_dimension_numbers().output_feature_dimension();
    } else {
      ONEXPU_ASSIGN_OR_RETURN(const MatmulConfig config, MatmulConfigOf(*call_));
      epilogue_ = config.epilogue;
      takes_scale_alone_ = IsCalledAsBlas(*call_, config.batch_dimensions, target_) &&
                           xla::ShapeUtil::ElementsIn(call_->shape()) *
                                   call_->operand(0)->shape().dimensions(config.lhs_contracting) <=
                               kMaxProductsForScaleOnly;
      const auto rank = static_cast<int64_t>(call_->shape().dimensions().size());
      const auto rhs_rank = static_cast<int64_t>(call_->operand(1)->shape().dimensions().size());
      // A matrix times a vector has no columns.
      feature_ = rhs_rank == config.batch_dimensions + 2 ? rank - 1 : -1;
    }
    bool changed = false;
    while (true) {
      ONEXPU_ASSIGN_OR_RETURN(const bool absorbed, AbsorbOne());
      if (!absorbed) return changed;
      changed = true;
    }
  }

 private:
  // Follows the one user through what only looks at the result differently.
  HloInstruction* View(std::vector<HloInstruction*>& between) {
    HloInstruction* view = call_;
    while (view->user_count() == 1 && view != call_->parent()->root_instruction()) {
      HloInstruction* user = view->users().front();
      const bool narrows =
          user->opcode() == HloOpcode::kConvert && xla::ShapeUtil::ElementIsFloating(user->shape());
      const bool keeps_columns =
          IsReshape(*user) && IsMatmul(*call_) && feature_ >= 0 && KeepsLastDimension(*user);
      if (!narrows && !keeps_columns) break;
      between.push_back(user);
      view = user;
    }
    return view;
  }

  // After layout assignment a reshape is a bitcast, and a bitcast a reshape if both sides are
  // row-major.
  static bool IsReshape(const HloInstruction& instruction) {
    if (instruction.opcode() == HloOpcode::kReshape) return true;
    return instruction.opcode() == HloOpcode::kBitcast &&
           instruction.shape().element_type() == instruction.operand(0)->shape().element_type() &&
           IsRowMajor(instruction.shape()) && IsRowMajor(instruction.operand(0)->shape());
  }
  static bool IsRowMajor(const xla::Shape& shape) {
    return shape.has_layout() && xla::LayoutUtil::IsMonotonicWithDim0Major(shape.layout());
  }

  static bool KeepsLastDimension(const HloInstruction& reshape) {
    const auto from = reshape.operand(0)->shape().dimensions();
    const auto to = reshape.shape().dimensions();
    return !from.empty() && !to.empty() && from.back() == to.back();
  }

  absl::StatusOr<bool> AbsorbOne() {
    std::vector<HloInstruction*> between;
    HloInstruction* view = View(between);
    ONEXPU_ASSIGN_OR_RETURN(const bool absorbed, AbsorbUser(view, between));
    return absorbed ? true : AbsorbActivation(view, between);
  }

  absl::StatusOr<bool> AbsorbUser(HloInstruction* view,
                                  const std::vector<HloInstruction*>& between) {
    if (!OnlyNarrows(between)) return false;
    if (view->user_count() != 1 || view == call_->parent()->root_instruction()) return false;
    HloInstruction* user = view->users().front();
    if (layout_sensitive_ && !xla::ShapeUtil::Equal(user->shape(), view->shape())) return false;
    if (takes_scale_alone_ && user->opcode() != HloOpcode::kMultiply) return false;
    const int64_t bias_dimension =
        IsMatmul(*call_) ? static_cast<int64_t>(view->shape().dimensions().size()) - 1 : feature_;
    switch (user->opcode()) {
      case HloOpcode::kAdd: {
        ONEXPU_ASSIGN_OR_RETURN(const bool absorbed,
                                AbsorbBias(user, view, feature_ < 0 ? -1 : bias_dimension));
        return absorbed ? true : AbsorbAddend(user, view);
      }
      case HloOpcode::kSubtract:
        // What gradient descent does to weights: the product's scale changes its sign.
        if (user->operand(1) != view || !IsMatmul(*call_) || epilogue_.has_bias) return false;
        return AbsorbAddend(user, view);
      case HloOpcode::kMultiply:
        return AbsorbScale(user, view);
      default:
        return false;
    }
  }

  static HloInstruction* Other(HloInstruction* user, const HloInstruction* view) {
    return user->mutable_operand(user->operand(0) == view ? 1 : 0);
  }

  absl::StatusOr<bool> AbsorbBias(HloInstruction* add, HloInstruction* view, int64_t dimension) {
    if (epilogue_.has_bias || epilogue_.activation != Activation::None || dimension < 0 ||
        add->operand(0) == add->operand(1)) {
      return false;
    }
    HloInstruction* vector = BroadcastVector(Other(add, view), dimension);
    if (vector == nullptr) return false;
    // A conversion would be a kernel now.
    if (layout_sensitive_ && vector->shape().element_type() != call_->shape().element_type()) {
      return false;
    }
    epilogue_.has_bias = true;
    bias_ = ConvertTo(call_->shape().element_type(), vector);
    return Replace(add, view);
  }

  // Whether `value` is memory anyway. What a kernel would compute is better added there.
  static bool IsMemory(const HloInstruction& value) {
    switch (value.opcode()) {
      case HloOpcode::kParameter:
      case HloOpcode::kGetTupleElement:
      case HloOpcode::kCustomCall:
      case HloOpcode::kConstant:
        return true;
      case HloOpcode::kBitcast:
        return IsMemory(*value.operand(0));
      case HloOpcode::kBroadcast:
      case HloOpcode::kIota:
        return false;
      default:
        return value.user_count() > 1;
    }
  }

  absl::StatusOr<bool> AbsorbAddend(HloInstruction* add, HloInstruction* view) {
    HloInstruction* addend = Other(add, view);
    // Of one type all the way: the call adds what the addition would.
    if (!layout_sensitive_ || epilogue_.has_addend || epilogue_.activation != Activation::None ||
        add->operand(0) == add->operand(1) || !IsMemory(*addend) ||
        view->shape().element_type() != call_->shape().element_type() ||
        !xla::ShapeUtil::Equal(addend->shape(), view->shape())) {
      return false;
    }
    if (view != call_) {
      addend =
          call_->parent()->AddInstruction(HloInstruction::CreateBitcast(call_->shape(), addend));
    }
    if (add->opcode() == HloOpcode::kSubtract) epilogue_.alpha = -epilogue_.alpha;
    epilogue_.has_addend = true;
    addend_ = addend;
    return Replace(add, view);
  }

  absl::StatusOr<bool> AbsorbActivation(HloInstruction* view,
                                        const std::vector<HloInstruction*>& between) {
    if (takes_scale_alone_ || epilogue_.activation != Activation::None) return false;
    const std::optional<ActivationPattern> pattern = FindActivation(*view);
    if (!pattern.has_value() || !KeepsNumbers(pattern->activation, *view, between)) return false;
    if (layout_sensitive_ && !xla::ShapeUtil::Equal(pattern->result->shape(), view->shape())) {
      return false;
    }
    epilogue_.activation = pattern->activation;
    epilogue_.activation_alpha = pattern->alpha;
    return Replace(pattern->result, view);
  }

  // Whether the activation of the call's result, as the library computes it, is the same as that of
  // the view.
  static bool KeepsNumbers(Activation activation, const HloInstruction& view,
                           const std::vector<HloInstruction*>& between) {
    // Whether it is rounded before or after makes no difference.
    if (activation == Activation::Relu) return true;
    // oneDNN's is exp(x) - 1, whose error near zero is up to 2^-24: the smallest number of f16, but
    // more than many numbers of the other types.
    if (activation == Activation::Elu && view.shape().element_type() != xla::F16) return false;
    return OnlyNarrows(between);
  }

  // Whether no step converts to a type with more digits or a larger range. What the program
  // computes in such a type would be rounded to the call's.
  static bool OnlyNarrows(const std::vector<HloInstruction*>& between) {
    return absl::c_all_of(between, [](const HloInstruction* step) {
      const xla::PrimitiveType to = step->shape().element_type();
      const xla::PrimitiveType from = step->operand(0)->shape().element_type();
      return xla::primitive_util::SignificandWidth(to) <=
                 xla::primitive_util::SignificandWidth(from) &&
             xla::primitive_util::ExponentWidth(to) <= xla::primitive_util::ExponentWidth(from);
    });
  }

  absl::StatusOr<bool> AbsorbScale(HloInstruction* multiply, HloInstruction* view) {
    if (!IsMatmul(*call_) || epilogue_.has_addend || epilogue_.has_bias ||
        epilogue_.activation != Activation::None) {
      return false;
    }
    const std::optional<double> scale = ConstantScalar(*Other(multiply, view));
    if (!scale.has_value()) return false;
    // BLAS does not read the operands of a product that is scaled by zero, so NaN would be lost.
    const float alpha = epilogue_.alpha * static_cast<float>(*scale);
    if (alpha == 0 || !std::isfinite(alpha)) return false;
    epilogue_.alpha = alpha;
    return Replace(multiply, view);
  }

  // `user` is computed by the call now: its users read the view of a new call.
  absl::StatusOr<bool> Replace(HloInstruction* user, HloInstruction* view) {
    std::vector<HloInstruction*> operands(call_->operands().begin(), call_->operands().end());
    if (addend_ != nullptr) {
      operands.insert(operands.begin() + kAddendOperand, std::exchange(addend_, nullptr));
    }
    if (bias_ != nullptr) operands.push_back(std::exchange(bias_, nullptr));
    HloInstruction* call =
        call_->parent()->AddInstruction(call_->CloneWithNewOperands(call_->shape(), operands));
    auto* custom_call = xla::Cast<xla::HloCustomCallInstruction>(call);
    if (IsMatmul(*call_)) {
      ONEXPU_ASSIGN_OR_RETURN(MatmulConfig config, MatmulConfigOf(*call_));
      config.epilogue = epilogue_;
      custom_call->set_raw_backend_config_string(ToText(config));
    } else {
      ONEXPU_ASSIGN_OR_RETURN(ConvolutionConfig config, ConvolutionConfigOf(*call_));
      config.epilogue = epilogue_;
      custom_call->set_raw_backend_config_string(ToText(config));
      custom_call->set_custom_call_target(kConvolutionBiasActivationTarget);
    }
    call->set_metadata(user->metadata());
    ONEXPU_RETURN_IF_ERROR(call_->ReplaceAllUsesWith(call));
    ONEXPU_RETURN_IF_ERROR(call_->parent()->RemoveInstruction(call_));
    HloInstruction* new_view = view == call_ ? call : view;
    call_ = call;
    ONEXPU_RETURN_IF_ERROR(user->ReplaceAllUsesWith(new_view));
    ONEXPU_RETURN_IF_ERROR(user->parent()->RemoveInstructionAndUnusedOperands(user));
    return true;
  }

  HloInstruction* call_;
  const Target& target_;
  const bool layout_sensitive_;
  HloInstruction* addend_ = nullptr;
  HloInstruction* bias_ = nullptr;
  Epilogue epilogue_;
  int64_t feature_ = -1;
  bool takes_scale_alone_ = false;
};

}  // namespace

absl::StatusOr<bool> EpilogueFusion::RunImpl(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (xla::HloComputation* computation : module->MakeNonfusionComputations(execution_threads)) {
    // Collected first: absorbing removes instructions.
    std::vector<HloInstruction*> calls;
    for (HloInstruction* instruction : computation->MakeInstructionPostOrder()) {
      if (IsMatmul(*instruction) || IsConvolutionCall(*instruction)) calls.push_back(instruction);
    }
    for (HloInstruction* call : calls) {
      ONEXPU_ASSIGN_OR_RETURN(const bool absorbed, Fuser(call, target_, layout_sensitive_).Run());
      changed = changed || absorbed;
    }
  }
  return changed;
}

}  // namespace onexpu::compiler
