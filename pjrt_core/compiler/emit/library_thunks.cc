#include "pjrt_core/compiler/emit/library_thunks.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/emit/strides.h"
#include "pjrt_core/compiler/passes/onednn/library_call.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"

namespace onexpu::compiler {
namespace {

using program::TensorT;
using xla::HloInstruction;

// A tensor that is built one logical dimension after the other out of an array's.
class TensorBuilder {
 public:
  static absl::StatusOr<TensorBuilder> Of(const HloInstruction& array, const MemoryMap& memory) {
    TensorBuilder builder(array.shape());
    ONEXPU_ASSIGN_OR_RETURN(const program::Slice slice, memory.SliceOf(array));
    builder.tensor_->slice = std::make_unique<program::Slice>(slice);
    return builder;
  }

  void Add(int64_t dimension) { Add(shape_.dimensions(dimension), strides_[dimension]); }
  void Add(int64_t size, int64_t stride) {
    tensor_->dimensions.push_back(size);
    tensor_->strides.push_back(stride);
  }
  template <typename Dimensions>
  void AddAll(const Dimensions& dimensions) {
    for (const int64_t dimension : dimensions) Add(dimension);
  }
  // A dimension that the array does not have.
  void AddOne() { Add(1, 1); }

  int64_t size(int64_t dimension) const { return shape_.dimensions(dimension); }
  int64_t stride(int64_t dimension) const { return strides_[dimension]; }
  int64_t rank() const { return strides_.size(); }
  std::unique_ptr<TensorT> Take() { return std::move(tensor_); }

 private:
  explicit TensorBuilder(const xla::Shape& shape)
      : shape_(shape), strides_(StridesOf(shape)), tensor_(std::make_unique<TensorT>()) {
    tensor_->element_type = static_cast<program::ElementType>(shape.element_type());
  }

  xla::Shape shape_;
  std::vector<int64_t> strides_;
  std::unique_ptr<TensorT> tensor_;
};

// The dimension of an operand that is neither batch nor contracting; -1: it has none.
int64_t OtherDimension(const TensorBuilder& operand, int64_t batch, int64_t contracting) {
  for (int64_t i = batch; i < operand.rank(); ++i) {
    if (i != contracting) return i;
  }
  return -1;
}

void AddOrOne(TensorBuilder& tensor, int64_t dimension) {
  if (dimension < 0) return tensor.AddOne();
  tensor.Add(dimension);
}

template <typename Table>
void SetEpilogue(const Epilogue& epilogue, Table& table) {
  table.activation = epilogue.activation;
  table.activation_alpha = epilogue.activation_alpha;
}

// The kernel's dimensions, with the groups split off the channels that run over all of them.
absl::StatusOr<std::unique_ptr<TensorT>> WeightsOf(const HloInstruction& weights,
                                                   const xla::ConvolutionDimensionNumbers& roles,
                                                   int64_t groups, int64_t destination_channels,
                                                   const MemoryMap& memory) {
  ONEXPU_ASSIGN_OR_RETURN(TensorBuilder tensor, TensorBuilder::Of(weights, memory));
  const int64_t output = roles.kernel_output_feature_dimension();
  const int64_t input = roles.kernel_input_feature_dimension();
  const bool output_has_groups = tensor.size(output) == destination_channels;
  const int64_t split = output_has_groups ? output : input;
  const int64_t per_group = tensor.size(split) / groups;
  if (groups > 1) tensor.Add(groups, tensor.stride(split) * per_group);
  for (const int64_t channels : {output, input}) {
    if (channels == split) {
      tensor.Add(per_group, tensor.stride(split));
    } else {
      tensor.Add(channels);
    }
  }
  tensor.AddAll(roles.kernel_spatial_dimensions());
  return tensor.Take();
}

}  // namespace

absl::StatusOr<program::GemmThunkT> MakeGemm(const HloInstruction& call, const MemoryMap& memory) {
  ONEXPU_ASSIGN_OR_RETURN(const MatmulConfig config, MatmulConfigOf(call));
  const int64_t batch = config.batch_dimensions;
  ONEXPU_ASSIGN_OR_RETURN(TensorBuilder lhs, TensorBuilder::Of(*call.operand(0), memory));
  ONEXPU_ASSIGN_OR_RETURN(TensorBuilder rhs, TensorBuilder::Of(*call.operand(1), memory));
  ONEXPU_ASSIGN_OR_RETURN(TensorBuilder result, TensorBuilder::Of(call, memory));
  for (int64_t i = 0; i < batch; ++i) {
    lhs.Add(i);
    rhs.Add(i);
    result.Add(i);
  }
  const int64_t row = OtherDimension(lhs, batch, config.lhs_contracting);
  const int64_t column = OtherDimension(rhs, batch, config.rhs_contracting);
  AddOrOne(lhs, row);
  lhs.Add(config.lhs_contracting);
  rhs.Add(config.rhs_contracting);
  AddOrOne(rhs, column);
  // The result has its row and its column in this order, each if it is there.
  const auto add_row_and_column = [&](TensorBuilder& tensor) {
    AddOrOne(tensor, row < 0 ? -1 : batch);
    AddOrOne(tensor, column < 0 ? -1 : batch + (row < 0 ? 0 : 1));
  };
  add_row_and_column(result);

  program::GemmThunkT table;
  table.deterministic = call.GetModule()->config().debug_options().xla_gpu_deterministic_ops();
  table.alpha = config.epilogue.alpha;
  SetEpilogue(config.epilogue, table);
  if (config.epilogue.has_addend) {
    ONEXPU_ASSIGN_OR_RETURN(TensorBuilder addend,
                            TensorBuilder::Of(*call.operand(kAddendOperand), memory));
    for (int64_t i = 0; i < batch; ++i) addend.Add(i);
    add_row_and_column(addend);
    table.addend = addend.Take();
    table.beta = 1;
  }
  if (config.epilogue.has_bias) {
    ONEXPU_ASSIGN_OR_RETURN(TensorBuilder bias,
                            TensorBuilder::Of(*call.operand(call.operand_count() - 1), memory));
    for (int64_t i = 0; i < batch + 1; ++i) bias.Add(1, bias.size(0));
    bias.Add(0);
    table.bias = bias.Take();
  }
  table.lhs = lhs.Take();
  table.rhs = rhs.Take();
  table.result = result.Take();
  return table;
}

absl::StatusOr<program::ConvolutionThunkT> MakeConvolution(const HloInstruction& call,
                                                           const MemoryMap& memory) {
  ONEXPU_ASSIGN_OR_RETURN(const ConvolutionConfig config, ConvolutionConfigOf(call));
  using program::ConvolutionKind;
  const HloInstruction& first = *call.operand(0);
  const HloInstruction& second = *call.operand(1);
  const bool is_data = config.kind == ConvolutionKind::BackwardData;
  const bool is_weights = config.kind == ConvolutionKind::BackwardWeights;
  const HloInstruction& source = is_data ? call : first;
  const HloInstruction& weights = is_weights ? call : second;
  const HloInstruction& destination = is_data ? first : is_weights ? second : call;

  const xla::ConvolutionDimensionNumbers& roles = call.convolution_dimension_numbers();
  ONEXPU_ASSIGN_OR_RETURN(TensorBuilder in, TensorBuilder::Of(source, memory));
  in.Add(roles.input_batch_dimension());
  in.Add(roles.input_feature_dimension());
  in.AddAll(roles.input_spatial_dimensions());
  ONEXPU_ASSIGN_OR_RETURN(TensorBuilder out, TensorBuilder::Of(destination, memory));
  out.Add(roles.output_batch_dimension());
  out.Add(roles.output_feature_dimension());
  out.AddAll(roles.output_spatial_dimensions());

  program::ConvolutionThunkT table;
  table.deterministic = call.GetModule()->config().debug_options().xla_gpu_deterministic_ops();
  table.kind = config.kind;
  table.groups = call.feature_group_count();
  SetEpilogue(config.epilogue, table);
  if (config.epilogue.has_addend) {
    ONEXPU_ASSIGN_OR_RETURN(TensorBuilder addend,
                            TensorBuilder::Of(*call.operand(kAddendOperand), memory));
    addend.Add(roles.output_batch_dimension());
    addend.Add(roles.output_feature_dimension());
    addend.AddAll(roles.output_spatial_dimensions());
    table.addend = addend.Take();
  }
  ONEXPU_ASSIGN_OR_RETURN(
      table.weights,
      WeightsOf(weights, roles, table.groups, out.size(roles.output_feature_dimension()), memory));
  if (config.epilogue.has_bias) {
    ONEXPU_ASSIGN_OR_RETURN(TensorBuilder bias,
                            TensorBuilder::Of(*call.operand(call.operand_count() - 1), memory));
    bias.Add(0);
    table.bias = bias.Take();
  }
  table.source = in.Take();
  table.destination = out.Take();
  for (const xla::WindowDimension& dimension : call.window().dimensions()) {
    table.window_strides.push_back(dimension.stride());
    table.padding_low.push_back(dimension.padding_low());
    table.padding_high.push_back(dimension.padding_high());
    table.dilation.push_back(dimension.window_dilation());
  }
  return table;
}

}  // namespace onexpu::compiler
