// ResourceStridedSliceAssign and TensorStridedSliceUpdate with any strides, and with values that
// are broadcast to the slice. TensorFlow's translations take strides of 1 and -1 and values of the
// slice's shape; these take their place.
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/util/strided_slice_op.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "xla/hlo/builder/lib/broadcast.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"
#include "xla/xla_data.pb.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

// The elements of one dimension that a slice names: from `low` on, every `step`-th, `count` of
// them.
struct Places {
  int64_t low;
  int64_t step;
  int64_t count;
  bool descend;
};

// What the masks say of begin, end and strides, in the terms of the dimensions of x.
struct Slice {
  std::vector<Places> places;
  // As the program that assigns sees the slice: without the dimensions that an index takes away,
  // and with those that newaxis adds.
  TensorShape shape;
};

bool IsEmpty(const Slice& slice) {
  for (const Places& places : slice.places) {
    if (places.count == 0) return true;
  }
  return false;
}

std::vector<int64_t> Counts(const Slice& slice) {
  std::vector<int64_t> counts;
  for (const Places& places : slice.places) counts.push_back(places.count);
  return counts;
}

// A value may have more dimensions of one element in front than the slice has.
absl::StatusOr<XlaOp> BroadcastToSlice(XlaOp value, const TensorShape& shape, const Slice& slice) {
  TensorShape trimmed = shape;
  while (trimmed.dims() > slice.shape.dims() && trimmed.dim_size(0) == 1) trimmed.RemoveDim(0);
  bool fits = trimmed.dims() <= slice.shape.dims();
  for (int i = 1; fits && i <= trimmed.dims(); ++i) {
    const int64_t size = trimmed.dim_size(trimmed.dims() - i);
    fits = size == 1 || size == slice.shape.dim_size(slice.shape.dims() - i);
  }
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("cannot broadcast a value of shape ",
                                                   shape.DebugString(), " to a slice of shape ",
                                                   slice.shape.DebugString()));
  }
  return xla::BroadcastTo(xla::Reshape(value, trimmed.dim_sizes()), slice.shape.dim_sizes());
}

// `value` [counts of the slice] at the slice's places in `x`.
XlaOp Update(XlaOp x, xla::PrimitiveType type, const TensorShape& shape, XlaOp value,
             const Slice& slice) {
  std::vector<int64_t> reversed;
  std::vector<XlaOp> starts;
  xla::PaddingConfig padding;
  bool dense = true;
  for (size_t i = 0; i < slice.places.size(); ++i) {
    const auto& [low, step, count, descend] = slice.places[i];
    if (descend) reversed.push_back(static_cast<int64_t>(i));
    starts.push_back(xla::ConstantR0<int64_t>(x.builder(), low));
    dense &= step == 1 || count == 1;
    auto* const dimension = padding.add_dimensions();
    dimension->set_edge_padding_low(low);
    dimension->set_interior_padding(step - 1);
    dimension->set_edge_padding_high(shape.dim_size(static_cast<int>(i)) - low -
                                     ((count - 1) * step + 1));
  }
  if (!reversed.empty()) value = xla::Rev(value, reversed);
  if (dense) return xla::DynamicUpdateSlice(x, value, starts);
  // The elements between stay as they are; what is padded with is not looked at.
  const XlaOp changed = xla::Broadcast(xla::ConstantR0<bool>(x.builder(), true), Counts(slice));
  const XlaOp unchanged = xla::ConstantR0<bool>(x.builder(), false);
  return xla::Select(xla::Pad(changed, unchanged, padding),
                     xla::Pad(value, xla::Zero(x.builder(), type), padding), x);
}

// Inputs: x or the variable that holds it, begin, end, strides, the value.
class StridedSliceUpdate final : public Translation {
 public:
  explicit StridedSliceUpdate(OpKernelConstruction* construction) : Translation(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("begin_mask", &begin_mask_));
    OP_REQUIRES_OK(construction, construction->GetAttr("end_mask", &end_mask_));
    OP_REQUIRES_OK(construction, construction->GetAttr("ellipsis_mask", &ellipsis_mask_));
    OP_REQUIRES_OK(construction, construction->GetAttr("new_axis_mask", &new_axis_mask_));
    OP_REQUIRES_OK(construction, construction->GetAttr("shrink_axis_mask", &shrink_axis_mask_));
    OP_REQUIRES_OK(construction, construction->GetAttr("T", &type_));
  }

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    const bool is_variable = context->input_type(0) == tensorflow::DT_RESOURCE;
    TensorShape shape;
    XlaOp x;
    if (is_variable) {
      TF_RETURN_IF_ERROR(context->ReadVariableInput(0, type_, &shape, &x));
    } else {
      shape = context->InputShape(0);
      x = context->Input(0);
    }
    TF_ASSIGN_OR_RETURN(const Slice slice, SliceOf(context, shape));
    TF_ASSIGN_OR_RETURN(XlaOp value,
                        BroadcastToSlice(context->Input(4), context->InputShape(4), slice));
    if (!IsEmpty(slice)) {
      x = Update(x, context->input_xla_type(4), shape, xla::Reshape(value, Counts(slice)), slice);
    }
    if (is_variable) return context->AssignVariable(0, type_, x);
    context->SetOutput(0, x);
    return absl::OkStatus();
  }

  absl::StatusOr<Slice> SliceOf(XlaOpKernelContext* context, const TensorShape& shape) const {
    TF_ASSIGN_OR_RETURN(const Tensor begin_tensor, context->ConstantInputTensor(1));
    TF_ASSIGN_OR_RETURN(const Tensor end_tensor, context->ConstantInputTensor(2));
    TF_ASSIGN_OR_RETURN(const Tensor strides_tensor, context->ConstantInputTensor(3));
    TensorShape counts;
    Slice slice;
    bool is_identity, is_simple, is_of_rows;
    absl::InlinedVector<int64_t, 4> begin, end, strides;
    TF_RETURN_IF_ERROR(tensorflow::ValidateStridedSliceOp(
        &begin_tensor, &end_tensor, strides_tensor, shape, begin_mask_, end_mask_, ellipsis_mask_,
        new_axis_mask_, shrink_axis_mask_, &counts, &slice.shape, &is_identity, &is_simple,
        &is_of_rows, &begin, &end, &strides));
    for (int i = 0; i < shape.dims(); ++i) {
      const int64_t count = counts.dim_size(i);
      const bool descend = strides[i] < 0;
      const int64_t low = descend ? begin[i] + (count - 1) * strides[i] : begin[i];
      slice.places.push_back({low, descend ? -strides[i] : strides[i], count, descend});
    }
    return slice;
  }

  int32_t begin_mask_, end_mask_, ellipsis_mask_, new_axis_mask_, shrink_axis_mask_;
  tensorflow::DataType type_;
};

}  // namespace

void RegisterStridedSliceUpdates() {
  for (const char* const op : {"ResourceStridedSliceAssign", "TensorStridedSliceUpdate"}) {
    RegisterTranslation<StridedSliceUpdate>(std::move(TranslationOf(op)
                                                          .CompileTimeConstantInput("begin")
                                                          .CompileTimeConstantInput("end")
                                                          .CompileTimeConstantInput("strides")));
  }
}

}  // namespace onexpu::tf_plugin
