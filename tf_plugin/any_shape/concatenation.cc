#include "tf_plugin/any_shape/concatenation.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "tf_plugin/any_shape/recurring_shapes.h"
#include "tf_plugin/kernels/support/ffi_attributes.h"
#include "tf_plugin/kernels/support/launch.h"
#include "tf_plugin/kernels/support/strided_elements.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::TensorShape;

// The operands from `first` on, along an axis.
class Concatenation final : public AnyShapeRun {
 public:
  // `axis` is of the output and stands in the operand `axis_operand` if it is not a constant. With
  // `adds_dimension`, each piece is one element of that dimension.
  Concatenation(int first, int count, std::optional<int64_t> axis, int axis_operand,
                bool adds_dimension)
      : first_(first),
        count_(count),
        axis_(axis),
        axis_operand_(axis_operand),
        adds_dimension_(adds_dimension) {}

  std::optional<absl::Status> TryRun(OpKernelContext& context) override {
    const std::optional<int> axis = Axis(context);
    if (!axis.has_value()) return std::nullopt;
    std::optional<TensorShape> output = OutputShape(context, *axis);
    if (!output.has_value() || output->num_elements() == 0) return std::nullopt;
    if (!shapes_.PrefersKernels(output->num_elements(), count_,
                                [&] { return Hash(context, *axis); })) {
      return std::nullopt;
    }
    return Concatenate(context, *axis, *output);
  }

 private:
  std::optional<int> Axis(const OpKernelContext& context) const {
    const int rank = context.input(first_).dims() + (adds_dimension_ ? 1 : 0);
    int64_t axis;
    if (axis_.has_value()) {
      axis = *axis_;
    } else {
      const absl::StatusOr<Numbers> numbers = ToNumbers(context.input(axis_operand_));
      if (!numbers.ok() || numbers->size() != 1) return std::nullopt;
      axis = numbers->front();
    }
    return FindDimension(axis, rank);
  }

  // Nothing for operands that are an error.
  std::optional<TensorShape> OutputShape(const OpKernelContext& context, int axis) const {
    TensorShape output = context.input(first_).shape();
    for (int i = 1; i < count_; ++i) {
      const TensorShape& shape = context.input(first_ + i).shape();
      if (adds_dimension_) {
        if (shape != output) return std::nullopt;
        continue;
      }
      if (shape.dims() != output.dims()) return std::nullopt;
      for (int d = 0; d < shape.dims(); ++d) {
        if (d != axis && shape.dim_size(d) != output.dim_size(d)) return std::nullopt;
      }
      output.set_dim(axis, output.dim_size(axis) + shape.dim_size(axis));
    }
    if (adds_dimension_) output.InsertDim(axis, count_);
    return output;
  }

  size_t Hash(const OpKernelContext& context, int axis) const {
    size_t hash = absl::HashOf(axis);
    for (int i = 0; i < count_; ++i) {
      hash = absl::HashOf(hash, context.input(first_ + i).shape().dim_sizes());
    }
    return hash;
  }

  absl::Status Concatenate(OpKernelContext& context, int axis, const TensorShape& output) const {
    int64_t rows = 1;
    for (int d = 0; d < axis; ++d) rows *= output.dim_size(d);
    std::vector<PJRT_Buffer*> pieces;
    for (int i = 0; i < count_; ++i) {
      const tensorflow::Tensor& piece = context.input(first_ + i);
      // What came from the host without elements has no buffer.
      if (piece.NumElements() == 0) continue;
      TF_ASSIGN_OR_RETURN(pieces.emplace_back(), BufferOf(piece));
    }
    FfiAttributes attributes;
    attributes.Add("rows", rows);
    TF_ASSIGN_OR_RETURN(
        std::vector<OwnedBuffer> joined,
        Launch(context, "onexpu.concatenate", pieces,
               {{ResultType{context.expected_output_dtype(0), output}}}, attributes.Build()));
    return SetOutput(&context, 0, output, std::move(joined.front()));
  }

  const int first_, count_;
  const std::optional<int64_t> axis_;
  const int axis_operand_;
  const bool adds_dimension_;
  RecurringShapes shapes_;
};

}  // namespace

std::unique_ptr<AnyShapeRun> MakeConcatenation(const OpKernelConstruction& construction) {
  const std::string& op = construction.def().op();
  const int inputs = construction.num_inputs();
  if (op == "Pack") {
    int64_t axis;
    if (!construction.GetAttr("axis", &axis).ok()) return nullptr;
    return std::make_unique<Concatenation>(0, inputs, axis, -1, /*adds_dimension=*/true);
  }
  if (op == "ConcatV2") {
    return std::make_unique<Concatenation>(0, inputs - 1, std::nullopt, inputs - 1, false);
  }
  return nullptr;
}

}  // namespace onexpu::tf_plugin
