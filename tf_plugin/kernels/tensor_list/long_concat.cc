#include "tf_plugin/kernels/tensor_list/long_concat.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tf_plugin/core/placement_counters.h"
#include "tf_plugin/kernels/support/concat_split.h"
#include "tf_plugin/kernels/support/counted_kernel.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

// Up to here a program of its own compiles in about a second, and runs in one step.
constexpr int kMaxInputsPerProgram = 128;

// Concat has the axis before the arrays, ConcatV2 after them.
class LongConcat final : public CountedKernel {
 public:
  explicit LongConcat(OpKernelConstruction* construction)
      : CountedKernel(construction, Route::kOnDemand), axis_is_first_(type_string() == "Concat") {}

 private:
  const Tensor& Array(const OpKernelContext& context, int i) const {
    return context.input(i + (axis_is_first_ ? 1 : 0));
  }

  absl::StatusOr<int> Axis(const OpKernelContext& context) const {
    const Tensor& input = context.input(axis_is_first_ ? 0 : context.num_inputs() - 1);
    const int rank = Array(context, 0).dims();
    if (rank == 0) {
      return absl::InvalidArgumentError("Can't concatenate scalars (use tf.stack instead)");
    }
    if (input.NumElements() != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Concat dim tensor should be a scalar, but got shape ", input.shape().DebugString()));
    }
    const int64_t axis =
        input.dtype() == tensorflow::DT_INT64 ? input.flat<int64_t>()(0) : input.flat<int32_t>()(0);
    if (axis < -rank || axis >= rank) {
      return absl::InvalidArgumentError(
          absl::StrCat("ConcatOp : Expected concatenating dimensions in the range [", -rank, ", ",
                       rank, "), but got ", axis));
    }
    return static_cast<int>(axis < 0 ? axis + rank : axis);
  }

  absl::StatusOr<TensorShape> JoinedShape(const OpKernelContext& context, int axis) const {
    const TensorShape& first = Array(context, 0).shape();
    TensorShape joined = first;
    for (int i = 1; i < context.num_inputs() - 1; ++i) {
      const TensorShape& shape = Array(context, i).shape();
      const auto differ = [&](absl::string_view rule) {
        return absl::InvalidArgumentError(
            absl::StrCat("ConcatOp : ", rule, ": shape[0] = ", first.DebugString(), " vs. shape[",
                         i, "] = ", shape.DebugString()));
      };
      if (shape.dims() != first.dims()) return differ("Ranks of all input tensors should match");
      for (int j = 0; j < first.dims(); ++j) {
        if (j == axis || shape.dim_size(j) == first.dim_size(j)) continue;
        return differ(absl::StrCat("Dimension ", j, " in both shapes must be equal"));
      }
      TF_RETURN_IF_ERROR(
          joined.SetDimWithStatus(axis, joined.dim_size(axis) + shape.dim_size(axis)));
    }
    return joined;
  }

  absl::Status Run(OpKernelContext* context) const override {
    TF_ASSIGN_OR_RETURN(const int axis, Axis(*context));
    TF_ASSIGN_OR_RETURN(const TensorShape shape, JoinedShape(*context, axis));
    if (shape.num_elements() == 0) return OutputUninitialized(context, 0, shape);
    int64_t rows = 1;
    for (int i = 0; i < axis; ++i) rows *= shape.dim_size(i);
    std::vector<Piece> pieces;
    for (int i = 0; i < context->num_inputs() - 1; ++i) {
      const Tensor& array = Array(*context, i);
      if (array.NumElements() == 0) continue;
      TF_ASSIGN_OR_RETURN(PJRT_Buffer * buffer, BufferOf(array));
      pieces.push_back({buffer, array.NumElements()});
    }
    TF_ASSIGN_OR_RETURN(OwnedBuffer joined,
                        ConcatPieces(*context, Array(*context, 0).dtype(), pieces, shape, rows));
    return SetOutput(context, 0, shape, std::move(joined));
  }

  const bool axis_is_first_;
};

}  // namespace

bool IsLongConcat(const OpKernelConstruction& construction) {
  const auto& op = construction.def().op();
  return (op == "Concat" || op == "ConcatV2") && construction.num_inputs() > kMaxInputsPerProgram;
}

OpKernel* MakeLongConcat(OpKernelConstruction* construction) {
  return new LongConcat(construction);
}

}  // namespace onexpu::tf_plugin
