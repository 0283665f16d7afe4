// Resizing of images [batch, rows, columns, depth] to the nearest element or by bilinear
// interpolation, and the gradients. TensorFlow's translations are convolutions in float32: they
// round integers beyond 2^24, and multiply infinite and NaN elements next to a result by 0.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tf_plugin/translations/image/index_table.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/lib/arithmetic.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/lib/slicing.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/shape.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

constexpr int kRows = 1, kColumns = 2;

// 2 GiB of indices.
constexpr int64_t kMaxSize = int64_t{1} << 28;

// A dimension that changes its size.
struct Extent {
  int dimension;
  int64_t before, after;
};
using Extents = std::array<Extent, 2>;  // rows, columns

// Base of the four translations: reads attributes, images and sizes.
class Resizing : public Translation {
 public:
  explicit Resizing(OpKernelConstruction* construction) : Translation(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("align_corners", &align_corners_));
    OP_REQUIRES_OK(construction, construction->GetAttr("half_pixel_centers", &half_pixel_centers_));
  }

 protected:
  // Resizes the first input.
  virtual absl::StatusOr<XlaOp> Resize(XlaOpKernelContext* context,
                                       const Extents& extents) const = 0;

  // Reads the rows and columns of the result; here, from the second input. Checked before any table
  // of indices.
  virtual absl::StatusOr<std::vector<int64_t>> ReadSize(XlaOpKernelContext* context,
                                                        const TensorShape& images) const {
    std::vector<int64_t> size;
    TF_RETURN_IF_ERROR(context->ConstantInputAsIntVector(1, &size));
    if (size.size() != 2 || size[0] <= 0 || size[1] <= 0) {
      return absl::InvalidArgumentError("the size must be two positive numbers");
    }
    TensorShape result = images;
    for (const int dimension : {kRows, kColumns}) {
      TF_RETURN_IF_ERROR(result.SetDimWithStatus(dimension, size[dimension - 1]));
      if (size[dimension - 1] <= kMaxSize) continue;
      return absl::InvalidArgumentError(absl::StrCat("onexpu: resizing to ", size[0], " x ",
                                                     size[1], ": rows and columns are limited to ",
                                                     kMaxSize, " each"));
    }
    return size;
  }

  // Whether TensorFlow's kernel accepts half_pixel_centers with align_corners.
  virtual bool AcceptsBothOptions() const { return false; }

  static absl::StatusOr<TensorShape> ReadImages(XlaOpKernelContext* context, int input) {
    const TensorShape images = context->InputShape(input);
    if (images.dims() != 4) {
      return absl::InvalidArgumentError(
          absl::StrCat("input must be 4-dimensional, got shape ", images.DebugString()));
    }
    if (images.dim_size(kRows) > 0 && images.dim_size(kColumns) > 0) return images;
    return absl::InvalidArgumentError(
        absl::StrCat("input image must be of non-zero size, got shape ", images.DebugString()));
  }

  // The distance of two output elements, in input elements.
  float Scale(int64_t after, int64_t before) const {
    return align_corners_ && after > 1
               ? static_cast<float>(before - 1) / static_cast<float>(after - 1)
               : static_cast<float>(before) / static_cast<float>(after);
  }

  // The index of the input element that is nearest to each output element.
  std::vector<int64_t> NearestOf(int64_t after, int64_t before) const {
    const float scale = Scale(after, before);
    std::vector<int64_t> indices;
    for (int64_t i = 0; i < after; ++i) {
      const float at = (static_cast<float>(i) + (half_pixel_centers_ ? 0.5F : 0.0F)) * scale;
      const float index = align_corners_ ? std::round(at) : std::floor(at);
      indices.push_back(std::clamp<int64_t>(static_cast<int64_t>(index), 0, before - 1));
    }
    return indices;
  }

  // The indices of the two input elements that each output element is interpolated from, and the
  // weight of the second one.
  struct Neighbors {
    std::vector<int64_t> low, high;
    std::vector<float> weight;
  };
  Neighbors NeighborsOf(int64_t after, int64_t before) const {
    const float scale = Scale(after, before);
    Neighbors neighbors;
    for (int64_t i = 0; i < after; ++i) {
      const float at = half_pixel_centers_ ? (static_cast<float>(i) + 0.5F) * scale - 0.5F
                                           : static_cast<float>(i) * scale;
      const float below = std::floor(at);
      neighbors.low.push_back(std::clamp<int64_t>(static_cast<int64_t>(below), 0, before - 1));
      neighbors.high.push_back(
          std::clamp<int64_t>(static_cast<int64_t>(std::ceil(at)), 0, before - 1));
      neighbors.weight.push_back(at - below);
    }
    return neighbors;
  }

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    if (half_pixel_centers_ && align_corners_ && !AcceptsBothOptions()) {
      return absl::InvalidArgumentError(
          "If half_pixel_centers is True, align_corners must be False.");
    }
    TF_ASSIGN_OR_RETURN(const TensorShape images, ReadImages(context, 0));
    TF_ASSIGN_OR_RETURN(const std::vector<int64_t> size, ReadSize(context, images));
    const Extents extents = {Extent{kRows, images.dim_size(kRows), size[0]},
                             Extent{kColumns, images.dim_size(kColumns), size[1]}};
    TF_ASSIGN_OR_RETURN(const XlaOp result, Resize(context, extents));
    context->SetOutput(0, result);
    return absl::OkStatus();
  }

  bool align_corners_ = false, half_pixel_centers_ = false;
};

// The terms of each sum: an input element and its weight.
struct Term {
  int64_t index;
  float weight;
};
using Terms = std::vector<std::vector<Term>>;

// Replaces the elements along a dimension of `x` by weighted sums of them. Gathers and reduces,
// because a scatter adds in no fixed order. Elements outside of a sum do not enter it with a weight
// of 0, because infinity times 0 is NaN.
absl::StatusOr<XlaOp> SumTerms(XlaOp x, const Terms& terms, bool weights, int64_t dimension) {
  xla::XlaBuilder* const builder = x.builder();
  size_t max_terms = 0;
  for (const auto& of_one : terms) max_terms = std::max(max_terms, of_one.size());
  IndexTable table = {static_cast<int64_t>(terms.size()), static_cast<int64_t>(max_terms)};
  table.indices.resize(terms.size() * max_terms, 0);
  table.is_used.resize(table.indices.size(), 0);
  std::vector<float> weight_of(table.indices.size(), 0);
  for (size_t i = 0; i < terms.size(); ++i) {
    for (size_t k = 0; k < terms[i].size(); ++k) {
      table.indices[i * max_terms + k] = terms[i][k].index;
      table.is_used[i * max_terms + k] = 1;
      weight_of[i * max_terms + k] = terms[i][k].weight;
    }
  }

  TF_ASSIGN_OR_RETURN(XlaOp elements, GatherTable(x, dimension, table));
  TF_ASSIGN_OR_RETURN(const xla::Shape shape, builder->GetShape(elements));
  const xla::PrimitiveType type = shape.element_type();
  if (weights) {
    const XlaOp weight =
        xla::Reshape(xla::ConstantR1<float>(builder, weight_of), {table.rows, table.columns});
    elements =
        xla::Mul(elements, xla::ConvertElementType(weight, type), {dimension, dimension + 1});
  }
  TF_ASSIGN_OR_RETURN(elements, ZeroUnused(elements, dimension, table));
  return xla::Reduce(elements, xla::Zero(builder, type),
                     xla::CreateScalarAddComputation(type, builder), {dimension + 1});
}

XlaOp Take(XlaOp x, const std::vector<int64_t>& indices, int64_t dimension) {
  return xla::TorchIndexSelect(x, xla::ConstantR1<int64_t>(x.builder(), indices), dimension);
}

// Inputs: images, size [2].
class ResizeNearestNeighbor final : public Resizing {
 public:
  using Resizing::Resizing;

 protected:
  absl::StatusOr<XlaOp> Resize(XlaOpKernelContext* context, const Extents& extents) const override {
    XlaOp x = context->Input(0);
    for (const auto& [dimension, before, after] : extents) {
      if (before != after) x = Take(x, NearestOf(after, before), dimension);
    }
    return x;
  }
};

// Inputs: the gradient of images that were resized, and the size [2] that they had before.
class ResizeNearestNeighborGrad final : public Resizing {
 public:
  using Resizing::Resizing;

 protected:
  bool AcceptsBothOptions() const override { return true; }

  absl::StatusOr<XlaOp> Resize(XlaOpKernelContext* context, const Extents& extents) const override {
    XlaOp sum = context->Input(0);
    for (const auto& [dimension, resized, size] : extents) {
      Terms terms(size);
      const std::vector<int64_t> indices = NearestOf(resized, size);
      for (size_t i = 0; i < indices.size(); ++i) {
        terms[indices[i]].push_back({static_cast<int64_t>(i), 1});
      }
      TF_ASSIGN_OR_RETURN(sum, SumTerms(sum, terms, /*weights=*/false, dimension));
    }
    return sum;
  }
};

// Inputs: images, size [2]. The result is float32.
class ResizeBilinear final : public Resizing {
 public:
  using Resizing::Resizing;

 protected:
  absl::StatusOr<XlaOp> Resize(XlaOpKernelContext* context, const Extents& extents) const override {
    XlaOp x = xla::ConvertElementType(context->Input(0), xla::F32);
    // TensorFlow's CPU kernel copies images of the same size, and otherwise interpolates along both
    // dimensions, including one that keeps its size. Infinity times a weight of 0 is NaN there.
    const auto& [rows, columns] = extents;
    if (rows.before == rows.after && columns.before == columns.after) return x;
    return Interpolate(Interpolate(x, columns), rows);
  }

 private:
  XlaOp Interpolate(XlaOp x, const Extent& extent) const {
    const Neighbors neighbors = NeighborsOf(extent.after, extent.before);
    const XlaOp low = Take(x, neighbors.low, extent.dimension);
    const XlaOp difference = Take(x, neighbors.high, extent.dimension) - low;
    const XlaOp weight = xla::ConstantR1<float>(x.builder(), neighbors.weight);
    return low + xla::Mul(difference, weight, {extent.dimension});
  }
};

// Inputs: the gradient of images that were resized, float32, and the images before. The result has
// the type of the images.
class ResizeBilinearGrad final : public Resizing {
 public:
  using Resizing::Resizing;

 protected:
  absl::StatusOr<std::vector<int64_t>> ReadSize(XlaOpKernelContext* context,
                                                const TensorShape& gradient) const override {
    TF_ASSIGN_OR_RETURN(const TensorShape images, ReadImages(context, 1));
    return std::vector<int64_t>{images.dim_size(kRows), images.dim_size(kColumns)};
  }

  absl::StatusOr<XlaOp> Resize(XlaOpKernelContext* context, const Extents& extents) const override {
    const xla::PrimitiveType type = context->input_xla_type(1);
    XlaOp sum = xla::ConvertElementType(context->Input(0), type == xla::F64 ? type : xla::F32);
    for (const auto& [dimension, resized, size] : extents) {
      Terms terms(size);
      const Neighbors neighbors = NeighborsOf(resized, size);
      for (size_t i = 0; i < neighbors.weight.size(); ++i) {
        const auto index = static_cast<int64_t>(i);
        terms[neighbors.low[i]].push_back({index, 1.0F - neighbors.weight[i]});
        terms[neighbors.high[i]].push_back({index, neighbors.weight[i]});
      }
      TF_ASSIGN_OR_RETURN(sum, SumTerms(sum, terms, /*weights=*/true, dimension));
    }
    return xla::ConvertElementType(sum, type);
  }
};

}  // namespace

void RegisterResizing() {
  RegisterTranslation<ResizeNearestNeighbor>(
      std::move(TranslationOf("ResizeNearestNeighbor").CompileTimeConstantInput("size")));
  RegisterTranslation<ResizeNearestNeighborGrad>(
      std::move(TranslationOf("ResizeNearestNeighborGrad").CompileTimeConstantInput("size")));
  RegisterTranslation<ResizeBilinear>(
      std::move(TranslationOf("ResizeBilinear").CompileTimeConstantInput("size")));
  RegisterTranslation<ResizeBilinearGrad>(TranslationOf("ResizeBilinearGrad"));
}

}  // namespace onexpu::tf_plugin
