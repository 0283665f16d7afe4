#include "pjrt_core/compiler/passes/convolution_rewriter.h"

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "pjrt_core/compiler/passes/convolution_forms.h"
#include "pjrt_core/compiler/passes/library_call.h"
#include "pjrt_core/compiler/passes/library_types.h"
#include "pjrt_core/program/status_macros.h"
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

// The same convolution with its padding, base dilation and reversal done by instructions of their
// own.
absl::StatusOr<HloInstruction*> MadePlain(HloInstruction* convolution) {
  const xla::ConvolutionDimensionNumbers& numbers = convolution->convolution_dimension_numbers();
  HloInstruction* source = convolution->mutable_operand(0);
  HloInstruction* kernel = convolution->mutable_operand(1);
  xla::Window window = convolution->window();
  xla::PaddingConfig padding = xla::MakeNoPaddingConfig(source->shape().dimensions().size());
  std::vector<int64_t> reversed;
  for (int64_t i = 0; i < window.dimensions_size(); ++i) {
    xla::WindowDimension& dimension = *window.mutable_dimensions(i);
    auto& edge = *padding.mutable_dimensions(numbers.input_spatial_dimensions(i));
    edge.set_edge_padding_low(dimension.padding_low());
    edge.set_edge_padding_high(dimension.padding_high());
    edge.set_interior_padding(dimension.base_dilation() - 1);
    if (dimension.window_reversal()) reversed.push_back(numbers.kernel_spatial_dimensions(i));
    dimension.set_padding_low(0);
    dimension.set_padding_high(0);
    dimension.set_base_dilation(1);
    dimension.set_window_reversal(false);
  }
  HloInstruction* zero = source->parent()->AddInstruction(
      HloInstruction::CreateConstant(xla::LiteralUtil::Zero(source->shape().element_type())));
  ONEXPU_ASSIGN_OR_RETURN(source, xla::MakePadHlo(source, zero, padding));
  if (!reversed.empty()) {
    kernel = kernel->parent()->AddInstruction(
        HloInstruction::CreateReverse(kernel->shape(), kernel, reversed));
  }
  HloInstruction* plain = convolution->parent()->AddInstruction(
      convolution->CloneWithNewOperands(convolution->shape(), {source, kernel}));
  plain->set_window(window);
  return plain;
}

absl::Status Rewrite(HloInstruction* convolution, const ConvolutionForm& form,
                     xla::PrimitiveType type) {
  HloInstruction* first = convolution->mutable_operand(0);
  HloInstruction* second = convolution->mutable_operand(1);
  if (form.skip_reverse) second = second->mutable_operand(0);
  if (form.reverse_kernel) {
    second = Reversed(second, convolution->convolution_dimension_numbers());
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
  constexpr int64_t kMostReach = int64_t{1} << 29;
  return absl::c_all_of(convolution.window().dimensions(), [](const xla::WindowDimension& d) {
    return std::abs(d.padding_low()) <= kMostReach && std::abs(d.padding_high()) <= kMostReach &&
           d.stride() <= kMostReach && d.base_dilation() <= kMostReach &&
           (d.size() == 1 || d.window_dilation() <= kMostReach / (d.size() - 1));
  });
}

// oneDNN 3.11 on a CPU gives wrong gradients of bfloat16 convolutions, which are computed in f32
// instead: jit_bf16's weight gradient reads memory that nobody wrote (one column of results, two
// groups or four), and jit_bf16_1x1's data gradient of one output channel multiplies the gradient
// by itself (in a program of oneDNN's API alone, too). Data gradients whose channels fill vectors
// were right in every case of a random search.
bool IsSafeWhenNarrow(const HloInstruction& convolution, const ConvolutionForm& form,
                      const Target& target) {
  constexpr int64_t kVector = 16;
  if (target.is_gpu || form.kind == program::ConvolutionKind::Forward) return true;
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
  if (target.is_gpu || form.kind != program::ConvolutionKind::BackwardWeights) return false;
  const int64_t channels =
      convolution.operand(0)->shape().dimensions(form.dimensions.input_feature_dimension());
  return channels / form.groups % kVector != 0 && xla::window_util::HasStride(form.window) &&
         absl::c_all_of(form.window.dimensions(),
                        [](const xla::WindowDimension& d) { return d.size() == 1; });
}

// The same gradient of weights of one element each over just the samples of the source that its
// positions read.
absl::StatusOr<HloInstruction*> OfSamples(HloInstruction* convolution) {
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * plain, MadePlain(convolution));
  HloInstruction* source = plain->mutable_operand(0);
  const absl::Span<const int64_t> extents = source->shape().dimensions();
  std::vector<int64_t> starts(extents.size(), 0), steps(extents.size(), 1);
  std::vector<int64_t> limits(extents.begin(), extents.end());
  xla::Window window = plain->window();
  for (int64_t i = 0; i < window.dimensions_size(); ++i) {
    xla::WindowDimension& dimension = *window.mutable_dimensions(i);
    const int64_t d = plain->convolution_dimension_numbers().input_spatial_dimensions(i);
    steps[d] = dimension.window_dilation();
    limits[d] = (dimension.size() - 1) * steps[d] + 1;
    dimension.set_window_dilation(1);
  }
  ONEXPU_ASSIGN_OR_RETURN(source, xla::MakeSliceHlo(source, starts, limits, steps));
  HloInstruction* sampled = plain->parent()->AddInstruction(
      plain->CloneWithNewOperands(plain->shape(), {source, plain->mutable_operand(1)}));
  sampled->set_window(window);
  ONEXPU_RETURN_IF_ERROR(convolution->parent()->ReplaceInstruction(convolution, sampled));
  return sampled;
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
  if (!form.has_value() && convolution->batch_group_count() == 1) {
    ONEXPU_ASSIGN_OR_RETURN(HloInstruction * plain, MadePlain(convolution));
    ONEXPU_RETURN_IF_ERROR(convolution->parent()->ReplaceInstruction(convolution, plain));
    convolution = plain;
    form = FormOf(*convolution);
  }
  if (!form.has_value()) return false;
  if (HasWrongSamples(*convolution, *form, target)) {
    ONEXPU_ASSIGN_OR_RETURN(convolution, OfSamples(convolution));
    form = FormOf(*convolution);
    if (!form.has_value()) return false;
  }
  if (!IsSafeWhenNarrow(*convolution, *form, target)) type = xla::F32;
  ONEXPU_RETURN_IF_ERROR(Rewrite(convolution, *form, type));
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
