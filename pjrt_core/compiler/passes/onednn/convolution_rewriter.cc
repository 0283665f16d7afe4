#include "pjrt_core/compiler/passes/onednn/convolution_rewriter.h"

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/passes/onednn/convolution_forms.h"
#include "pjrt_core/compiler/passes/onednn/convolution_trimming.h"
#include "pjrt_core/compiler/passes/onednn/library_call.h"
#include "pjrt_core/compiler/passes/onednn/library_types.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal_util.h"
#include "xla/service/hlo.pb.h"
#include "xla/service/hlo_creation_utils.h"
#include "xla/shape_util.h"
#include "xla/window_util.h"

namespace onexpu::compiler {
namespace {

using xla::HloInstruction;

HloInstruction* Reversed(HloInstruction* kernel, const xla::ConvolutionDimensionNumbers& numbers) {
  const auto& spatial = numbers.kernel_spatial_dimensions();
  return kernel->parent()->AddInstruction(HloInstruction::CreateReverse(
      kernel->shape(), kernel, std::vector<int64_t>(spatial.begin(), spatial.end())));
}

// oneDNN multiplies bf16 in pairs of channels on a CPU. Behind an odd number of them it reads the
// next element of the source, times zero, which is NaN if that is infinite ("odd-channels-bf16" in
// library_faults/table.cc). A channel of zeros keeps the pairs in their place. Depthwise kernels do
// not read in pairs.
bool HasOddChannels(const HloInstruction& convolution, const ConvolutionForm& form) {
  const int64_t channels =
      convolution.operand(0)->shape().dimensions(form.dimensions.input_feature_dimension()) /
      form.groups;
  const int64_t features =
      convolution.shape().dimensions(form.dimensions.output_feature_dimension()) / form.groups;
  return form.kind == program::ConvolutionKind::Forward && channels % 2 != 0 &&
         (form.groups == 1 || channels > 1 || features > 1);
}

absl::StatusOr<HloInstruction*> WithZeroChannel(HloInstruction* operand, int64_t dimension) {
  xla::PaddingConfig padding = xla::MakeNoPaddingConfig(operand->shape().dimensions().size());
  padding.mutable_dimensions(dimension)->set_edge_padding_high(1);
  HloInstruction* zero = operand->parent()->AddInstruction(
      HloInstruction::CreateConstant(xla::LiteralUtil::Zero(operand->shape().element_type())));
  return xla::MakePadHlo(operand, zero, padding);
}

absl::Status Rewrite(HloInstruction* convolution, const ConvolutionForm& form,
                     xla::PrimitiveType type, const Target& target) {
  HloInstruction* first = convolution->mutable_operand(0);
  HloInstruction* second = convolution->mutable_operand(1);
  if (form.skip_reverse) second = second->mutable_operand(0);
  if (form.reverse_kernel) {
    second = Reversed(second, convolution->convolution_dimension_numbers());
  }
  if (!target.device->has_exact_narrow_convolutions && type == xla::BF16 &&
      HasOddChannels(*convolution, form)) {
    ONEXPU_ASSIGN_OR_RETURN(first,
                            WithZeroChannel(first, form.dimensions.input_feature_dimension()));
    ONEXPU_ASSIGN_OR_RETURN(
        second, WithZeroChannel(second, form.dimensions.kernel_input_feature_dimension()));
  }
  const xla::PrimitiveType result_type = convolution->shape().element_type();
  const xla::PrimitiveType stored = LibraryResultType(type, result_type);
  ConvolutionConfig config;
  config.kind = form.kind;
  HloInstruction* call = convolution->parent()->AddInstruction(HloInstruction::CreateCustomCall(
      xla::ShapeUtil::ChangeElementType(convolution->shape(), stored),
      {ConvertTo(type, first), ConvertTo(type, second)}, kConvolutionTarget, ToText(config),
      xla::CustomCallApiVersion::API_VERSION_TYPED_FFI));
  call->set_window(form.window);
  call->set_convolution_dimension_numbers(form.dimensions);
  call->set_feature_group_count(form.groups);
  call->set_metadata(convolution->metadata());
  return convolution->parent()->ReplaceInstruction(convolution, ConvertTo(result_type, call));
}

bool HasLibraryRank(const HloInstruction& convolution) {
  const int64_t spatial = convolution.window().dimensions_size();
  return spatial >= 1 && spatial <= 3 && !xla::ShapeUtil::IsZeroElementArray(convolution.shape()) &&
         absl::c_none_of(convolution.operands(), [](const HloInstruction* operand) {
           return xla::ShapeUtil::IsZeroElementArray(operand->shape());
         });
}

// Whether the window reaches no further than the library, which counts in 32 bits, can add up.
bool HasLibraryReach(const HloInstruction& convolution) {
  constexpr int64_t kMaxWindowReach = int64_t{1} << 29;
  return absl::c_all_of(convolution.window().dimensions(), [](const xla::WindowDimension& d) {
    return std::abs(d.padding_low()) <= kMaxWindowReach &&
           std::abs(d.padding_high()) <= kMaxWindowReach && d.stride() <= kMaxWindowReach &&
           d.base_dilation() <= kMaxWindowReach &&
           (d.size() == 1 || d.window_dilation() <= kMaxWindowReach / (d.size() - 1));
  });
}

// oneDNN 3.11 on a CPU gives wrong gradients of bfloat16 convolutions, which are computed in f32
// instead: jit_bf16's weight gradient reads uninitialized memory (one column of results, two
// groups or four), and jit_bf16_1x1's data gradient of one output channel multiplies the gradient
// by itself (in a program of oneDNN's API alone, too). Data gradients whose channels fill vectors
// were right in every case of a random search. Forward convolutions of several groups of an odd
// number of channels are computed in f32, too (HasOddChannels).
bool IsSafeWhenNarrow(const HloInstruction& convolution, const ConvolutionForm& form,
                      const Target& target) {
  constexpr int64_t kVector = 16;
  if (target.device->has_exact_narrow_convolutions) return true;
  if (form.kind == program::ConvolutionKind::Forward) {
    return form.groups == 1 || !HasOddChannels(convolution, form);
  }
  if (form.kind == program::ConvolutionKind::BackwardWeights) return false;
  const HloInstruction& destination = *convolution.operand(0);
  const int64_t in = convolution.shape().dimensions(form.dimensions.input_feature_dimension());
  const int64_t out = destination.shape().dimensions(form.dimensions.output_feature_dimension());
  return in / form.groups % kVector == 0 && out / form.groups % kVector == 0;
}

// oneDNN 3.11's jit_1x1:avx2 gives wrong weight gradients of convolutions that only sample their
// source (a kernel of one element, strides) where fewer channels than a vector has are read. A
// random search found none with more; where the last vector is not full, it is not relied upon.
bool HasWrongSamples(const HloInstruction& convolution, const ConvolutionForm& form,
                     const Target& target) {
  constexpr int64_t kVector = 8;
  if (target.device->has_exact_narrow_convolutions ||
      form.kind != program::ConvolutionKind::BackwardWeights) {
    return false;
  }
  const int64_t channels =
      convolution.operand(0)->shape().dimensions(form.dimensions.input_feature_dimension());
  return channels / form.groups % kVector != 0 && xla::window_util::HasStride(form.window) &&
         absl::c_all_of(form.window.dimensions(),
                        [](const xla::WindowDimension& d) { return d.size() == 1; });
}

absl::StatusOr<bool> TryRewrite(HloInstruction* convolution, const Target& target) {
  xla::PrimitiveType type = LibraryType(*convolution, target);
  if (type == xla::PRIMITIVE_TYPE_INVALID || !HasLibraryRank(*convolution) ||
      !HasLibraryReach(*convolution)) {
    return false;
  }
  std::optional<ConvolutionForm> form = FormOf(*convolution);
  const bool is_forward = form.has_value() && form->kind == program::ConvolutionKind::Forward;
  if (type == xla::S8 && !is_forward) return false;  // the library has no others
  TrimmedConvolution other;
  if (!form.has_value() && convolution->batch_group_count() == 1) {
    ONEXPU_ASSIGN_OR_RETURN(other, TrimConvolution(convolution));
  } else if (form.has_value() && HasWrongSamples(*convolution, *form, target)) {
    ONEXPU_ASSIGN_OR_RETURN(other, SampleConvolution(convolution));
  }
  if (other.result != nullptr) {
    ONEXPU_RETURN_IF_ERROR(convolution->parent()->ReplaceInstruction(convolution, other.result));
    if (other.convolution == nullptr) return true;
    convolution = other.convolution;
    form = FormOf(*convolution);
  }
  if (!form.has_value()) return other.result != nullptr;
  if (type == xla::BF16 && !IsSafeWhenNarrow(*convolution, *form, target)) type = xla::F32;
  ONEXPU_RETURN_IF_ERROR(Rewrite(convolution, *form, type, target));
  return true;
}

}  // namespace

absl::StatusOr<bool> ConvolutionRewriter::RunImpl(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (xla::HloComputation* computation : module->MakeNonfusionComputations(execution_threads)) {
    for (HloInstruction* instruction : computation->MakeInstructionPostOrder()) {
      if (instruction->opcode() != xla::HloOpcode::kConvolution) continue;
      ONEXPU_ASSIGN_OR_RETURN(const bool rewritten, TryRewrite(instruction, target_));
      changed = changed || rewritten;
    }
  }
  return changed;
}

}  // namespace onexpu::compiler
