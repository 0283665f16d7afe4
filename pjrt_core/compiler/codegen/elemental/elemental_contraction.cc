// One element of a dot or of a convolution: a serial sum. Large ones never come here, a library
// computes them.
#include "llvm/IR/Constants.h"
#include "pjrt_core/compiler/codegen/elemental/dot_block.h"
#include "pjrt_core/compiler/codegen/elemental/elemental_emitter.h"
#include "pjrt_core/compiler/codegen/elemental/types.h"
#include "pjrt_core/compiler/codegen/elemental/wide_sum.h"
#include "pjrt_core/compiler/codegen/math/narrow_float.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/tsl/platform/statusor.h"
#include "xla/util.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;
using xla::HloInstruction;

// A sum of products of the result's type, rounded to it at the end. Runs of products add up in the
// type, and join a wide total if there are several.
class Sum {
 public:
  Sum(FusionContext& context, const HloInstruction& instruction, std::vector<int64_t> extents)
      : context_(context),
        instruction_(instruction),
        type_(instruction.shape().element_type()),
        extents_(std::move(extents)),
        wide_(type_, context.target()) {
    slot_ = NewSlot(wide_.element_type());
    if (wide_.has_wide() && xla::Product(extents_) > kRun) total_ = NewSlot(wide_.wide_type());
  }

  // Calls `term` for every index below the extents, in their order.
  absl::Status ForEachTerm(absl::FunctionRef<absl::Status(absl::Span<Value* const>)> term) {
    if (total_ == nullptr) return context_.ForEach(extents_, term);
    IndexMath& math = context_.index_math();
    // A run is some indices of one dimension and all of those behind it.
    size_t behind = extents_.size();
    int64_t terms = 1;
    while (terms * extents_[behind - 1] <= kRun) terms *= extents_[--behind];
    const int64_t extent = extents_[behind - 1];
    const int64_t in_run = kRun / terms;
    std::vector<int64_t> outer(extents_.begin(), extents_.begin() + behind);
    outer.back() = xla::CeilOfRatio(extent, in_run);
    const auto inner = absl::MakeConstSpan(extents_).subspan(behind);
    return context_.ForEach(outer, [&](absl::Span<Value* const> counters) -> absl::Status {
      Value* begin = math.Mul(counters.back(), in_run);
      Value* end = math.Add(begin, in_run);
      if (extent % in_run != 0) end = math.Minimum(end, extent);
      TF_RETURN_IF_ERROR(context_.For(begin, end, math.Constant(1), [&](Value* index) {
        return context_.ForEach(inner, [&](absl::Span<Value* const> rest) {
          std::vector<Value*> position(counters.begin(), counters.end());
          position.back() = index;
          position.insert(position.end(), rest.begin(), rest.end());
          return term(position);
        });
      }));
      EndRun();
      return absl::OkStatus();
    });
  }

  absl::Status Add(const Index& lhs_index, const Index& rhs_index) {
    llvm::IRBuilder<>& b = context_.b();
    TF_ASSIGN_OR_RETURN(Value * lhs, Factor(0, lhs_index));
    TF_ASSIGN_OR_RETURN(Value * rhs, Factor(1, rhs_index));
    b.CreateStore(EmitAdd(Load(slot_), EmitMultiply(lhs, rhs, b), b), slot_);
    return absl::OkStatus();
  }

  Value* Result() {
    Value* sum = total_ == nullptr ? Load(slot_) : wide_.Narrow(Load(total_), context_.b());
    return Normalize(sum, type_, context_.target(), context_.b());
  }

 private:
  // Few, because the inner product of two vectors is a single sum.
  static constexpr int64_t kRun = 16;

  llvm::AllocaInst* NewSlot(xla::PrimitiveType type) {
    llvm::Type* const llvm_type = ComputeType(type, context_.llvm_context());
    return context_.Slot(llvm_type, llvm::Constant::getNullValue(llvm_type));
  }

  Value* Load(llvm::AllocaInst* slot) {
    return context_.b().CreateLoad(slot->getAllocatedType(), slot);
  }

  void EndRun() {
    llvm::IRBuilder<>& b = context_.b();
    b.CreateStore(wide_.Add(Load(total_), Load(slot_), b), total_);
    b.CreateStore(llvm::Constant::getNullValue(slot_->getAllocatedType()), slot_);
  }

  absl::StatusOr<Value*> Factor(int64_t operand, const Index& index) {
    const HloInstruction& factor = *instruction_.operand(operand);
    TF_ASSIGN_OR_RETURN(Value * value, context_.Element(factor, index));
    return EmitConvert(value, factor.shape().element_type(), wide_.element_type(),
                       context_.target(), context_.b());
  }

  FusionContext& context_;
  const HloInstruction& instruction_;
  xla::PrimitiveType type_;
  std::vector<int64_t> extents_;
  WideSum wide_;
  llvm::AllocaInst* slot_;
  llvm::AllocaInst* total_ = nullptr;
};

}  // namespace

absl::StatusOr<Value*> EmitDot(FusionContext& context, const HloInstruction& dot,
                               const Index& index) {
  DotIndices at(dot, index.values());
  Sum sum(context, dot, ContractedExtents(dot));
  TF_RETURN_IF_ERROR(sum.ForEachTerm([&](absl::Span<Value* const> counters) {
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
  Sum sum(context, convolution, extents);
  TF_RETURN_IF_ERROR(sum.ForEachTerm([&](absl::Span<Value* const> counters) -> absl::Status {
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
          dimension.window_reversal() ? math.Sub(math.Constant(dimension.size() - 1), tap) : tap;
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
