#include "tf_plugin/xla_backend/pooling_shape_rules.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/kernel_shape_util.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/util/padding.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::Tensor;
using ::tensorflow::shape_inference::InferenceContext;
using ::tensorflow::shape_inference::ShapeHandle;

using Sizes = std::vector<int64_t>;

// Nothing where a size is not known.
std::optional<Sizes> SizesOf(InferenceContext& shapes, int operand) {
  const ShapeHandle shape = shapes.input(operand);
  if (!shapes.FullyDefined(shape)) return std::nullopt;
  Sizes sizes;
  for (int i = 0; i < InferenceContext::Rank(shape); ++i) {
    sizes.push_back(InferenceContext::Value(shapes.Dim(shape, i)));
  }
  return sizes;
}

std::optional<Sizes> ValuesOf(InferenceContext& shapes, int operand) {
  const Tensor* const values = shapes.input_tensor(operand);
  if (values == nullptr || values->dtype() != tensorflow::DT_INT32 || values->dims() != 1) {
    return std::nullopt;
  }
  const auto sizes = values->vec<int32_t>();
  return Sizes(sizes.data(), sizes.data() + sizes.size());
}

// An attribute, or an operand of the ops' second versions.
std::optional<Sizes> Window(InferenceContext& shapes, absl::string_view attribute, int operand) {
  Sizes sizes;
  if (shapes.GetAttr(attribute, &sizes).ok()) return sizes;
  return operand < shapes.num_inputs() ? ValuesOf(shapes, operand) : std::nullopt;
}

// The sizes of what `input` is pooled to, or nothing where the op's own checks come first.
absl::StatusOr<std::optional<Sizes>> Pooled(InferenceContext& shapes,
                                            const std::optional<Sizes>& input) {
  const std::optional<Sizes> window = Window(shapes, "ksize", 3);
  const std::optional<Sizes> strides = Window(shapes, "strides", 4);
  tensorflow::Padding padding;
  TF_RETURN_IF_ERROR(shapes.GetAttr("padding", &padding));
  Sizes explicit_padding;
  if (padding == tensorflow::EXPLICIT) {
    TF_RETURN_IF_ERROR(shapes.GetAttr("explicit_paddings", &explicit_padding));
  }
  if (!input.has_value() || !window.has_value() || !strides.has_value()) return std::nullopt;
  const size_t rank = input->size();
  if (window->size() != rank || strides->size() != rank) return std::nullopt;
  if (padding == tensorflow::EXPLICIT && explicit_padding.size() != 2 * rank) return std::nullopt;
  const auto not_positive = [](int64_t size) { return size <= 0; };
  if (std::any_of(input->begin(), input->end(), not_positive)) return std::nullopt;

  Sizes pooled(rank);
  for (size_t i = 0; i < rank; ++i) {
    int64_t before = padding == tensorflow::EXPLICIT ? explicit_padding[2 * i] : 0;
    int64_t after = padding == tensorflow::EXPLICIT ? explicit_padding[2 * i + 1] : 0;
    TF_RETURN_IF_ERROR(tensorflow::GetWindowedOutputSizeVerbose(
        (*input)[i], (*window)[i], /*dilation_rate=*/1, (*strides)[i], padding, &pooled[i], &before,
        &after));
  }
  return pooled;
}

absl::Status Expect(InferenceContext& shapes, absl::string_view name, int operand,
                    const std::optional<Sizes>& expected) {
  const std::optional<Sizes> given = SizesOf(shapes, operand);
  if (!expected.has_value() || !given.has_value() || *given == *expected) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("Expected ", name, " shape to be [",
                                                 absl::StrJoin(*expected, ","), "], but got [",
                                                 absl::StrJoin(*given, ","), "]"));
}

}  // namespace

absl::Status MaxPoolGradShapes(InferenceContext& shapes) {
  TF_ASSIGN_OR_RETURN(const std::optional<Sizes> pooled, Pooled(shapes, SizesOf(shapes, 0)));
  TF_RETURN_IF_ERROR(Expect(shapes, "orig_output", 1, pooled));
  return Expect(shapes, "grad", 2, pooled);
}

absl::Status MaxPoolGradGradShapes(InferenceContext& shapes) {
  const std::optional<Sizes> input = SizesOf(shapes, 0);
  TF_ASSIGN_OR_RETURN(const std::optional<Sizes> pooled, Pooled(shapes, input));
  TF_RETURN_IF_ERROR(Expect(shapes, "orig_output", 1, pooled));
  return Expect(shapes, "grad", 2, input);
}

absl::Status ArgmaxGradShapes(InferenceContext& shapes) {
  TF_ASSIGN_OR_RETURN(const std::optional<Sizes> pooled, Pooled(shapes, SizesOf(shapes, 0)));
  TF_RETURN_IF_ERROR(Expect(shapes, "grad", 1, pooled));
  return Expect(shapes, "argmax", 2, pooled);
}

absl::Status ArgmaxGradGradShapes(InferenceContext& shapes) {
  const std::optional<Sizes> input = SizesOf(shapes, 0);
  TF_ASSIGN_OR_RETURN(const std::optional<Sizes> pooled, Pooled(shapes, input));
  TF_RETURN_IF_ERROR(Expect(shapes, "grad", 1, input));
  return Expect(shapes, "argmax", 2, pooled);
}

absl::Status AvgPoolGradShapes(InferenceContext& shapes) {
  TF_ASSIGN_OR_RETURN(const std::optional<Sizes> pooled, Pooled(shapes, ValuesOf(shapes, 0)));
  return Expect(shapes, "grad", 1, pooled);
}

}  // namespace onexpu::tf_plugin
