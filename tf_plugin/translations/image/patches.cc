// ExtractImagePatches and ExtractVolumePatches. TensorFlow's translation of the first multiplies
// the elements under a window by an identity matrix, so one infinite or NaN element makes whole
// patches NaN. These gather the elements, in any type.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/kernel_shape_util.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/util/overflow.h"
#include "tensorflow/core/util/padding.h"
#include "tf_plugin/translations/image/index_table.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

// 3 GiB of indices and flags.
constexpr int64_t kMaxIndices = int64_t{1} << 28;

// The elements under a window that moves along one dimension.
struct Window {
  int64_t stride;
  int64_t span;      // from the first element under the window to the last one
  IndexTable table;  // [outputs, size of the window]; padding is unused
  bool has_padding = false;
};

absl::StatusOr<Window> MakeWindow(int64_t input, int64_t size, int64_t rate, int64_t stride,
                                  tensorflow::Padding padding) {
  int64_t outputs = 0, before = 0, after = 0;
  TF_RETURN_IF_ERROR(tensorflow::GetWindowedOutputSizeVerbose(input, size, rate, stride, padding,
                                                              &outputs, &before, &after));
  Window window = {stride, (size - 1) * rate + 1, {outputs, size}};
  for (int64_t i = 0; i < outputs; ++i) {
    for (int64_t k = 0; k < size; ++k) {
      const int64_t index = i * stride + k * rate - before;
      const bool is_inside = index >= 0 && index < input;
      window.has_padding |= !is_inside;
      window.table.is_used.push_back(is_inside ? 1 : 0);
      window.table.indices.push_back(is_inside ? index : 0);
    }
  }
  return window;
}

// Replaces `dimension` of `x` by two, the outputs and the elements of the window.
absl::StatusOr<XlaOp> TakeWindows(XlaOp x, int64_t dimension, const Window& window) {
  TF_ASSIGN_OR_RETURN(const xla::Shape shape, x.builder()->GetShape(x));
  TF_ASSIGN_OR_RETURN(XlaOp elements, GatherTable(x, dimension, window.table));
  if (shape.is_dynamic_dimension(dimension)) {  // without padding: dynamic_size_rules.cc
    const XlaOp inputs = xla::GetDimensionSize(x, dimension);
    const XlaOp outputs = xla::Max(inputs + xla::ScalarLike(inputs, window.stride - window.span),
                                   xla::ZerosLike(inputs)) /
                          xla::ScalarLike(inputs, window.stride);
    elements = xla::SetDimensionSize(elements, outputs, dimension);
  }
  if (!window.has_padding) return elements;
  return ZeroUnused(elements, dimension, window.table);
}

// Input: images [batch, rows, columns, depth], or volumes with planes before the rows.
class ExtractPatches : public Translation {
 public:
  // `rates` names the attribute of the distances under the window, or is null.
  ExtractPatches(OpKernelConstruction* construction, int rank, const char* rates)
      : Translation(construction), rank_(rank) {
    OP_REQUIRES_OK(construction, construction->GetAttr("ksizes", &sizes_));
    OP_REQUIRES_OK(construction, construction->GetAttr("strides", &strides_));
    OP_REQUIRES_OK(construction, construction->GetAttr("padding", &padding_));
    if (rates == nullptr) {
      rates_.assign(rank, 1);
    } else {
      OP_REQUIRES_OK(construction, construction->GetAttr(rates, &rates_));
    }
    for (const auto* values : {&sizes_, &strides_, &rates_}) {
      OP_REQUIRES(construction, static_cast<int>(values->size()) == rank,
                  absl::InvalidArgumentError(absl::StrCat("ksizes, strides and rates must have ",
                                                          rank, " elements each")));
      OP_REQUIRES(construction, values->front() == 1 && values->back() == 1,
                  absl::UnimplementedError(
                      "Only support ksizes, strides and rates across space: the first and the "
                      "last element must be 1"));
      for (const int32_t value : *values) {
        OP_REQUIRES(construction, value >= 1,
                    absl::OutOfRangeError("ksizes, strides and rates must be positive"));
      }
    }
  }

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    const TensorShape shape = context->InputShape(0);
    if (shape.dims() != rank_) {
      return absl::InvalidArgumentError(
          absl::StrCat("input must be ", rank_, "-dimensional, got shape ", shape.DebugString()));
    }
    TF_ASSIGN_OR_RETURN(const TensorShape result, ResultShape(shape));
    if (result.num_elements() == 0) {
      context->SetOutput(0,
                         xla::Broadcast(xla::Zero(context->builder(), context->input_xla_type(0)),
                                        result.dim_sizes()));
      return absl::OkStatus();
    }
    // The dimensions of the patches after those of the outputs: [batch, outputs..., window...,
    // depth].
    XlaOp patches = context->Input(0);
    std::vector<int64_t> order = {0}, under_window;
    for (int i = 1; i < rank_ - 1; ++i) {
      TF_ASSIGN_OR_RETURN(const Window window, MakeWindow(shape.dim_size(i), sizes_[i], rates_[i],
                                                          strides_[i], padding_));
      const int64_t dimension = 2 * i - 1;
      TF_ASSIGN_OR_RETURN(patches, TakeWindows(patches, dimension, window));
      order.push_back(dimension);
      under_window.push_back(dimension + 1);
    }
    order.insert(order.end(), under_window.begin(), under_window.end());
    order.push_back(2 * rank_ - 3);
    context->SetOutput(0, xla::Reshape(xla::Transpose(patches, order), result.dim_sizes()));
    return absl::OkStatus();
  }

  // Before any table of indices, whose size is that of a window times the outputs.
  absl::StatusOr<TensorShape> ResultShape(const TensorShape& shape) const {
    TensorShape result;
    TF_RETURN_IF_ERROR(result.AddDimWithStatus(shape.dim_size(0)));
    int64_t elements = shape.dim_size(rank_ - 1);
    for (int i = 1; i < rank_ - 1; ++i) {
      int64_t outputs = 0, before = 0, after = 0;
      TF_RETURN_IF_ERROR(tensorflow::GetWindowedOutputSizeVerbose(shape.dim_size(i), sizes_[i],
                                                                  rates_[i], strides_[i], padding_,
                                                                  &outputs, &before, &after));
      TF_RETURN_IF_ERROR(result.AddDimWithStatus(outputs));
      if (outputs * sizes_[i] > kMaxIndices) {
        return absl::InvalidArgumentError(
            absl::StrCat("onexpu: ", type_string(), ": a window of ", sizes_[i], " elements at ",
                         outputs, " positions of dimension ", i, " takes more than ", kMaxIndices,
                         " indices. Extract patches from parts of the input"));
      }
      elements = tensorflow::MultiplyWithoutOverflow(elements, sizes_[i]);
      if (elements < 0) {
        return absl::InvalidArgumentError(absl::StrCat(
            "a patch of ", shape.DebugString(), " has more elements than 64 bits can count"));
      }
    }
    TF_RETURN_IF_ERROR(result.AddDimWithStatus(elements));
    return result;
  }

  const int rank_;
  std::vector<int32_t> sizes_, strides_, rates_;
  tensorflow::Padding padding_;
};

class ExtractImagePatches final : public ExtractPatches {
 public:
  explicit ExtractImagePatches(OpKernelConstruction* construction)
      : ExtractPatches(construction, 4, "rates") {}
};

class ExtractVolumePatches final : public ExtractPatches {
 public:
  explicit ExtractVolumePatches(OpKernelConstruction* construction)
      : ExtractPatches(construction, 5, nullptr) {}
};

}  // namespace

void RegisterPatches() {
  RegisterTranslation<ExtractImagePatches>(TranslationOf("ExtractImagePatches"));
  RegisterTranslation<ExtractVolumePatches>(TranslationOf("ExtractVolumePatches"));
}

}  // namespace onexpu::tf_plugin
