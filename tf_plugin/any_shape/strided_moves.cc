#include "tf_plugin/any_shape/strided_moves.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensorflow/core/framework/node_def_util.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

// Of the kernels.
constexpr size_t kMaxRank = 8;

// The numbers of an operand in host memory; nothing if its shape is another.
std::optional<Numbers> NumbersOf(const OpKernelContext& context, int operand,
                                 const TensorShape& shape) {
  const Tensor& tensor = context.input(operand);
  if (tensor.shape() != shape) return std::nullopt;
  const absl::StatusOr<Numbers> numbers = ToNumbers(tensor);
  if (!numbers.ok()) return std::nullopt;
  return *numbers;
}

std::optional<StridedMoves> One(StridedMove move) {
  move.elements = move.elements.Squeezed();
  if (move.elements.sizes.size() > kMaxRank || move.output.num_elements() == 0) return std::nullopt;
  StridedMoves moves;
  moves.push_back(std::move(move));
  return moves;
}

std::optional<TensorShape> ShapeOf(const Numbers& sizes) {
  TensorShape shape;
  if (!TensorShape::BuildTensorShape(sizes, &shape).ok()) return std::nullopt;
  return shape;
}

std::optional<StridedMoves> Transpose(const OpKernelContext& context) {
  const TensorShape& input = context.input(0).shape();
  const std::optional<Numbers> permutation = NumbersOf(context, 1, TensorShape({input.dims()}));
  if (!permutation.has_value()) return std::nullopt;
  const Numbers strides = StridesOf(input);
  StridedMove move;
  absl::InlinedVector<bool, 4> is_used(input.dims(), false);
  for (const int64_t number : *permutation) {
    const std::optional<int> d = FindDimension(number, input.dims());
    if (!d.has_value() || is_used[*d]) return std::nullopt;
    is_used[*d] = true;
    move.elements.sizes.push_back(input.dim_size(*d));
    move.elements.strides.push_back(strides[*d]);
    move.output.AddDim(input.dim_size(*d));
  }
  return One(std::move(move));
}

std::optional<StridedMoves> BroadcastTo(const OpKernelContext& context) {
  const TensorShape& input = context.input(0).shape();
  const std::optional<Numbers> sizes =
      NumbersOf(context, 1, TensorShape({context.input(1).NumElements()}));
  if (!sizes.has_value() || static_cast<int>(sizes->size()) < input.dims()) return std::nullopt;
  const std::optional<TensorShape> output = ShapeOf(*sizes);
  if (!output.has_value()) return std::nullopt;
  const Numbers strides = StridesOf(input);
  const int missing = output->dims() - input.dims();
  StridedMove move{.elements = {*sizes, Numbers(sizes->size(), 0)}, .output = *output};
  for (int d = 0; d < input.dims(); ++d) {
    if (input.dim_size(d) == 1) continue;
    if (input.dim_size(d) != output->dim_size(missing + d)) return std::nullopt;
    move.elements.strides[missing + d] = strides[d];
  }
  return One(std::move(move));
}

std::optional<StridedMoves> Tile(const OpKernelContext& context) {
  const TensorShape& input = context.input(0).shape();
  const std::optional<Numbers> multiples = NumbersOf(context, 1, TensorShape({input.dims()}));
  if (!multiples.has_value()) return std::nullopt;
  const Numbers strides = StridesOf(input);
  StridedMove move;
  Numbers sizes;
  for (int d = 0; d < input.dims(); ++d) {
    const int64_t multiple = (*multiples)[d], size = input.dim_size(d);
    if (multiple <= 0) return std::nullopt;
    move.elements.sizes.insert(move.elements.sizes.end(), {multiple, size});
    move.elements.strides.insert(move.elements.strides.end(), {0, strides[d]});
    sizes.push_back(multiple * size);
  }
  const std::optional<TensorShape> output = ShapeOf(sizes);
  if (!output.has_value()) return std::nullopt;
  move.output = *output;
  return One(std::move(move));
}

std::optional<StridedMoves> Fill(const OpKernelContext& context) {
  if (context.input(1).dims() != 0) return std::nullopt;
  const std::optional<Numbers> sizes =
      NumbersOf(context, 0, TensorShape({context.input(0).NumElements()}));
  if (!sizes.has_value()) return std::nullopt;
  const std::optional<TensorShape> output = ShapeOf(*sizes);
  if (!output.has_value()) return std::nullopt;
  // Of any rank.
  return One({.operand = 1, .elements = {{output->num_elements()}, {0}}, .output = *output});
}

std::optional<StridedMoves> Reverse(const OpKernelContext& context) {
  const TensorShape& input = context.input(0).shape();
  const std::optional<Numbers> axes =
      NumbersOf(context, 1, TensorShape({context.input(1).NumElements()}));
  if (!axes.has_value()) return std::nullopt;
  Numbers begin(input.dims(), 0), steps(input.dims(), 1);
  for (const int64_t number : *axes) {
    const std::optional<int> d = FindDimension(number, input.dims());
    if (!d.has_value() || steps[*d] == -1) return std::nullopt;
    begin[*d] = input.dim_size(*d) - 1;
    steps[*d] = -1;
  }
  const auto sizes = input.dim_sizes();
  return One(
      {.elements = StridedElements::Of(input, Numbers(sizes.begin(), sizes.end()), begin, steps),
       .output = input});
}

// Parts of `operand` along dimension `d`, as long as `lengths` say.
std::optional<StridedMoves> Parts(const OpKernelContext& context, int operand, int d,
                                  const Numbers& lengths, bool keeps_dimension) {
  const TensorShape& input = context.input(operand).shape();
  const auto extents = input.dim_sizes();
  Numbers sizes(extents.begin(), extents.end()), begin(input.dims(), 0);
  const Numbers steps(input.dims(), 1);
  StridedMoves moves;
  for (const int64_t length : lengths) {
    TensorShape output = input;
    if (keeps_dimension) {
      output.set_dim(d, length);
    } else {
      output.RemoveDim(d);
    }
    sizes[d] = length;
    std::optional<StridedMoves> part =
        One({.operand = operand,
             .elements = StridedElements::Of(input, sizes, begin, steps),
             .output = output});
    if (!part.has_value()) return std::nullopt;
    moves.push_back(std::move(part->front()));
    begin[d] += length;
  }
  return moves;
}

std::optional<StridedMoves> Unpack(const OpKernelContext& context) {
  const TensorShape& input = context.input(0).shape();
  int64_t axis;
  if (!tensorflow::GetNodeAttr(context.op_kernel().def(), "axis", &axis).ok()) return std::nullopt;
  const std::optional<int> d = FindDimension(axis, input.dims());
  if (!d.has_value() || input.dim_size(*d) != context.num_outputs()) return std::nullopt;
  return Parts(context, 0, *d, Numbers(context.num_outputs(), 1), /*keeps_dimension=*/false);
}

std::optional<StridedMoves> Split(const OpKernelContext& context) {
  const TensorShape& input = context.input(1).shape();
  const std::optional<Numbers> axis = NumbersOf(context, 0, TensorShape());
  if (!axis.has_value()) return std::nullopt;
  const std::optional<int> d = FindDimension(axis->front(), input.dims());
  const int64_t count = context.num_outputs();
  if (!d.has_value() || input.dim_size(*d) % count != 0) return std::nullopt;
  return Parts(context, 1, *d, Numbers(count, input.dim_size(*d) / count),
               /*keeps_dimension=*/true);
}

std::optional<StridedMoves> SplitOfSizes(const OpKernelContext& context) {
  const TensorShape& input = context.input(0).shape();
  std::optional<Numbers> lengths = NumbersOf(context, 1, TensorShape({context.num_outputs()}));
  const std::optional<Numbers> axis = NumbersOf(context, 2, TensorShape());
  if (!lengths.has_value() || !axis.has_value()) return std::nullopt;
  const std::optional<int> d = FindDimension(axis->front(), input.dims());
  if (!d.has_value()) return std::nullopt;
  int64_t rest = input.dim_size(*d);
  int64_t* open = nullptr;  // the length that is to be computed
  for (int64_t& length : *lengths) {
    if (length >= 0) {
      rest -= length;
    } else if (length == -1 && open == nullptr) {
      open = &length;
    } else {
      return std::nullopt;
    }
  }
  if (rest < 0 || (open == nullptr && rest != 0)) return std::nullopt;
  if (open != nullptr) *open = rest;
  return Parts(context, 0, *d, *lengths, /*keeps_dimension=*/true);
}

std::optional<StridedMoves> Pad(const OpKernelContext& context) {
  const TensorShape& input = context.input(0).shape();
  const std::optional<Numbers> paddings = NumbersOf(context, 1, TensorShape({input.dims(), 2}));
  if (!paddings.has_value() || input.num_elements() == 0) return std::nullopt;
  const auto extents = input.dim_sizes();
  Numbers sizes, begin;
  for (int d = 0; d < input.dims(); ++d) {
    const int64_t before = (*paddings)[2 * d], after = (*paddings)[2 * d + 1];
    if (before < 0 || after < 0) return std::nullopt;
    begin.push_back(before);
    sizes.push_back(before + extents[d] + after);
  }
  const std::optional<TensorShape> output = ShapeOf(sizes);
  if (!output.has_value()) return std::nullopt;
  return One({.elements = StridedElements::Of(*output, Numbers(extents.begin(), extents.end()),
                                              begin, Numbers(input.dims(), 1)),
              .output = *output,
              .writes = true});
}

// Blocks of pixels to channels or back: [batch, rows, in block, columns, in block, channels] with
// the dimensions in another order.
std::optional<StridedMoves> Blocks(const OpKernelContext& context, bool to_depth) {
  const TensorShape& input = context.input(0).shape();
  const auto& node = context.op_kernel().def();
  std::string format;
  int64_t block;
  if (!tensorflow::GetNodeAttr(node, "data_format", &format).ok() || format != "NHWC" ||
      !tensorflow::GetNodeAttr(node, "block_size", &block).ok() || input.dims() != 4) {
    return std::nullopt;
  }
  const int64_t batch = input.dim_size(0), rows = input.dim_size(1), columns = input.dim_size(2);
  const int64_t channels = input.dim_size(3);
  StridedMove move;
  TensorShape split;
  // Either way exchanges the third and the fourth dimension.
  const Numbers order = {0, 1, 3, 2, 4, 5};
  if (to_depth) {
    if (rows % block != 0 || columns % block != 0) return std::nullopt;
    split = TensorShape({batch, rows / block, block, columns / block, block, channels});
    move.output = TensorShape({batch, rows / block, columns / block, block * block * channels});
  } else {
    if (channels % (block * block) != 0) return std::nullopt;
    split = TensorShape({batch, rows, columns, block, block, channels / (block * block)});
    move.output = TensorShape({batch, rows * block, columns * block, channels / (block * block)});
  }
  const Numbers strides = StridesOf(split);
  for (const int64_t d : order) {
    move.elements.sizes.push_back(split.dim_size(static_cast<int>(d)));
    move.elements.strides.push_back(strides[d]);
  }
  return One(std::move(move));
}

struct Entry {
  absl::string_view op;
  StridedMovesOf moves;
};

constexpr Entry kEntries[] = {
    {"BroadcastTo", BroadcastTo},
    {"DepthToSpace", [](const OpKernelContext& context) { return Blocks(context, false); }},
    {"Fill", Fill},
    {"Pad", Pad},
    {"ReverseV2", Reverse},
    {"SpaceToDepth", [](const OpKernelContext& context) { return Blocks(context, true); }},
    {"Split", Split},
    {"SplitV", SplitOfSizes},
    {"Tile", Tile},
    {"Transpose", Transpose},
    {"Unpack", Unpack},
};

}  // namespace

StridedMovesOf FindStridedMoves(absl::string_view op) {
  const auto found = std::find_if(std::begin(kEntries), std::end(kEntries),
                                  [&](const Entry& entry) { return entry.op == op; });
  return found == std::end(kEntries) ? nullptr : found->moves;
}

}  // namespace onexpu::tf_plugin
