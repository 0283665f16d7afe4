// One element of a dot or of a convolution: a serial sum. Large ones never come here, a library
// computes them.
#include "llvm/IR/Constants.h"
#include "pjrt_core/compiler/codegen/dot_block.h"
#include "pjrt_core/compiler/codegen/elemental_emitter.h"
#include "pjrt_core/compiler/codegen/narrow_float.h"
#include "pjrt_core/compiler/codegen/types.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;
using xla::HloInstruction;

// A sum of products in the result's type, narrow floats in f32 until the end.
class Sum {
 public:
  Sum(FusionContext& context, const HloInstruction& instruction)
      : context_(context),
        instruction_(instruction),
        type_(instruction.shape().element_type()),
        sum_type_(IsNarrowFloat(type_) ? xla::F32 : type_) {
    llvm::Type* type = ComputeType(sum_type_, context.llvm_context());
    slot_ = context.Slot(type, llvm::Constant::getNullValue(type));
  }

  absl::Status Add(const Index& lhs_index, const Index& rhs_index) {
    llvm::IRBuilder<>& b = context_.b();
    TF_ASSIGN_OR_RETURN(Value * lhs, Factor(0, lhs_index));
    TF_ASSIGN_OR_RETURN(Value * rhs, Factor(1, rhs_index));
    Value* before = b.CreateLoad(slot_->getAllocatedType(), slot_);
    b.CreateStore(EmitAdd(before, EmitMultiply(lhs, rhs, b), b), slot_);
    return absl::OkStatus();
  }

  absl::StatusOr<Value*> Result() {
    Value* sum = context_.b().CreateLoad(slot_->getAllocatedType(), slot_);
    return Normalize(sum, type_, context_.target(), context_.b());
  }

 private:
  absl::StatusOr<Value*> Factor(int64_t operand, const Index& index) {
    const HloInstruction& factor = *instruction_.operand(operand);
    TF_ASSIGN_OR_RETURN(Value * value, context_.Element(factor, index));
    return EmitConvert(value, factor.shape().element_type(), sum_type_, context_.target(),
                       context_.b());
  }

  FusionContext& context_;
  const HloInstruction& instruction_;
  xla::PrimitiveType type_;
  xla::PrimitiveType sum_type_;
  llvm::AllocaInst* slot_;
};

}  // namespace

absl::StatusOr<Value*> EmitDot(FusionContext& context, const HloInstruction& dot,
                               const Index& index) {
  DotIndices at(dot, index.values());
  Sum sum(context, dot);
  TF_RETURN_IF_ERROR(
      context.ForEach(ContractedExtents(dot), [&](absl::Span<Value* const> counters) {
        at.Contract(dot, counters);
        return sum.Add(Index(at.lhs), Index(at.rhs));
      }));
  return sum.Result();
}

absl::StatusOr<Value*> EmitConvolution(FusionContext& context, const HloInstruction& convolution,
                                       const Index& index) {
  llvm::IRBuilder<>& b = context.b();
  IndexMath& math = context.index_math();
  const xla::ConvolutionDimensionNumbers& numbers = convolution.convolution_dimension_numbers();
  const xla::Window& window = convolution.window();
  const xla::Shape& lhs = convolution.operand(0)->shape();
  const xla::Shape& rhs = convolution.operand(1)->shape();
  const int64_t spatial = numbers.input_spatial_dimensions_size();
  const int64_t group_inputs = rhs.dimensions(numbers.kernel_input_feature_dimension());
  const int64_t outputs = rhs.dimensions(numbers.kernel_output_feature_dimension());
  const int64_t feature_groups = convolution.feature_group_count();
  const int64_t batch_groups = convolution.batch_group_count();

  Value* output_feature = index[numbers.output_feature_dimension()];
  Value* batch = index[numbers.output_batch_dimension()];
  // Each group of output features sees its own group of input features, or of batches.
  Value* first_input = math.Constant(0);
  if (feature_groups > 1) {
    first_input = math.Mul(math.Div(output_feature, outputs / feature_groups), group_inputs);
  }
  if (batch_groups > 1) {
    const int64_t group_batches = lhs.dimensions(numbers.input_batch_dimension()) / batch_groups;
    batch =
        math.Add(math.Mul(math.Div(output_feature, outputs / batch_groups), group_batches), batch);
  }

  std::vector<int64_t> extents;
  for (int64_t i = 0; i < spatial; ++i) extents.push_back(window.dimensions(i).size());
  extents.push_back(group_inputs);
  Sum sum(context, convolution);
  TF_RETURN_IF_ERROR(
      context.ForEach(extents, [&](absl::Span<Value* const> counters) -> absl::Status {
        std::vector<Value*> lhs_values(lhs.dimensions().size());
        std::vector<Value*> rhs_values(rhs.dimensions().size());
        Value* inside = b.getTrue();
        for (int64_t i = 0; i < spatial; ++i) {
          const xla::WindowDimension& dimension = window.dimensions(i);
          Value* tap = counters[i];
          Value* position =
              math.Add(math.Mul(index[numbers.output_spatial_dimensions(i)], dimension.stride()),
                       math.Mul(tap, dimension.window_dilation()));
          position = math.Sub(position, math.Constant(dimension.padding_low()));
          const int64_t extent = lhs.dimensions(numbers.input_spatial_dimensions(i));
          const int64_t end = extent == 0 ? 0 : (extent - 1) * dimension.base_dilation() + 1;
          inside = b.CreateAnd(inside, b.CreateICmpULT(position, math.Constant(end)));
          if (dimension.base_dilation() != 1) {
            Value* rest = math.Rem(position, dimension.base_dilation());
            inside = b.CreateAnd(inside, b.CreateICmpEQ(rest, math.Constant(0)));
          }
          lhs_values[numbers.input_spatial_dimensions(i)] =
              math.Div(position, dimension.base_dilation());
          rhs_values[numbers.kernel_spatial_dimensions(i)] =
              dimension.window_reversal() ? math.Sub(math.Constant(dimension.size() - 1), tap)
                                          : tap;
        }
        lhs_values[numbers.input_batch_dimension()] = batch;
        lhs_values[numbers.input_feature_dimension()] = math.Add(first_input, counters[spatial]);
        rhs_values[numbers.kernel_input_feature_dimension()] = counters[spatial];
        rhs_values[numbers.kernel_output_feature_dimension()] = output_feature;
        return context.If(inside, [&] { return sum.Add(Index(lhs_values), Index(rhs_values)); });
      }));
  return sum.Result();
}

}  // namespace onexpu::compiler
