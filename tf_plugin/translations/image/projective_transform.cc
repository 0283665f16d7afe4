// ImageProjectiveTransform: images that read elements at computed coordinates.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "xla/hlo/builder/lib/arithmetic.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/lib/math.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernelContext;
using ::xla::ScalarLike;
using ::xla::XlaOp;

absl::Status CheckImages(const TensorShape& images) {
  if (images.dims() == 4) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("images must be 4-dimensional, got shape ", images.DebugString()));
}

// How often `period` fits into `x`, as a 64-bit integer of an x86 processor, which is negative
// where there are more.
XlaOp WholePeriods(XlaOp x, XlaOp period) {
  constexpr double kEnd = 0x1p63;
  const XlaOp periods = xla::Floor(x / period);
  return xla::Select(xla::Lt(periods, ScalarLike(x, kEnd)), periods, ScalarLike(x, -kEnd));
}

// Where a coordinate outside of [0, size) reads; of [abcd], reflection makes [dcba|abcd|dcba] and
// wrapping [abcd|abcd|abcd].
XlaOp MapCoordinate(absl::string_view mode, XlaOp x, int64_t size) {
  if (mode == "CONSTANT") return x;
  const XlaOp zero = ScalarLike(x, 0), last = ScalarLike(x, size - 1);
  if (mode != "NEAREST" && size <= 1) return xla::ZerosLike(x);
  if (mode == "REFLECT") {
    const XlaOp period = ScalarLike(x, 2 * size), one = ScalarLike(x, 1);
    const XlaOp below = period * WholePeriods(-x, period) + x;
    const XlaOp from_below =
        xla::Select(xla::Lt(below, ScalarLike(x, -size)), below + period, -below - one);
    const XlaOp above = x - period * WholePeriods(x, period);
    const XlaOp from_above =
        xla::Select(xla::Ge(above, ScalarLike(x, size)), period - above - one, above);
    x = xla::Select(xla::Lt(x, zero), from_below, xla::Select(xla::Gt(x, last), from_above, x));
  } else if (mode == "WRAP") {
    const XlaOp whole = ScalarLike(x, size);
    const XlaOp from_below = x + whole * (WholePeriods(-x, last) + ScalarLike(x, 1));
    const XlaOp from_above = x - whole * WholePeriods(x, last);
    x = xla::Select(xla::Lt(x, zero), from_below, xla::Select(xla::Gt(x, last), from_above, x));
  }
  return xla::Clamp(zero, x, last);
}

// Inputs: images, transforms [1 or batch, 8], output_shape [2], and in version 3 fill_value.
template <int version>
class ProjectiveTransform final : public Translation {
 public:
  explicit ProjectiveTransform(OpKernelConstruction* construction) : Translation(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("interpolation", &interpolation_));
    OP_REQUIRES_OK(construction, construction->GetAttr("fill_mode", &fill_mode_));
    OP_REQUIRES(construction, interpolation_ == "NEAREST" || interpolation_ == "BILINEAR",
                absl::InvalidArgumentError(absl::StrCat("Invalid interpolation ", interpolation_,
                                                        ". Supported types: NEAREST, BILINEAR")));
    OP_REQUIRES(
        construction,
        fill_mode_ == "REFLECT" || fill_mode_ == "WRAP" || fill_mode_ == "CONSTANT" ||
            fill_mode_ == "NEAREST",
        absl::InvalidArgumentError(absl::StrCat(
            "Invalid mode ", fill_mode_, ". Supported types: REFLECT, WRAP, CONSTANT, NEAREST")));
  }

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    const TensorShape images = context->InputShape(0), transforms = context->InputShape(1);
    TF_RETURN_IF_ERROR(CheckImages(images));
    if (transforms.dims() != 2 || transforms.dim_size(1) != 8 ||
        (transforms.dim_size(0) != 1 && transforms.dim_size(0) != images.dim_size(0))) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Input transform should be num_images x 8 or 1 x 8, got ", transforms.DebugString()));
    }
    std::vector<int64_t> size;
    TF_RETURN_IF_ERROR(context->ConstantInputAsIntVector(2, &size));
    if (size.size() != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("output shape must have two elements, got ", size.size()));
    }
    if (size[0] <= 0 || size[1] <= 0) {
      return absl::InvalidArgumentError("output dimensions must be positive");
    }
    xla::XlaBuilder* const builder = context->builder();
    const xla::PrimitiveType type = context->input_xla_type(0);
    const std::vector<int64_t> places = {images.dim_size(0), size[0], size[1]};
    const xla::Shape places_shape = xla::ShapeUtil::MakeShape(xla::F32, places);
    const XlaOp row = xla::Iota(builder, places_shape, 1);
    const XlaOp column = xla::Iota(builder, places_shape, 2);
    const auto parameter = [&](int64_t i) {
      const XlaOp one = xla::SliceInDim(context->Input(1), i, i + 1, 1, 1);
      return transforms.dim_size(0) == 1
                 ? xla::Broadcast(xla::Reshape(one, {}), places)
                 : xla::BroadcastInDim(xla::Reshape(one, {images.dim_size(0)}), places, {0});
    };
    const XlaOp projection = parameter(6) * column + parameter(7) * row + ScalarLike(row, 1);
    const auto source = [&](int64_t i) {
      return (parameter(i) * column + parameter(i + 1) * row + parameter(i + 2)) / projection;
    };
    const XlaOp x = MapCoordinate(fill_mode_, source(0), images.dim_size(2));
    const XlaOp y = MapCoordinate(fill_mode_, source(3), images.dim_size(1));
    const XlaOp is_infinite = xla::Eq(projection, ScalarLike(projection, 0));
    XlaOp fill = xla::Zero(builder, type);
    if (version == 3) fill = xla::ConvertElementType(context->Input(3), type);
    const Reader reader = {images, context->Input(0), fill, places};
    XlaOp values;
    if (interpolation_ == "NEAREST") {
      values = reader.Read(xla::Round(y), xla::Round(x));
    } else {
      values = xla::ConvertElementType(Interpolate(reader, y, x), type);
    }
    std::vector<int64_t> result = places;
    result.push_back(images.dim_size(3));
    context->SetOutput(0, xla::Select(xla::BroadcastInDim(is_infinite, result, {0, 1, 2}),
                                      xla::Broadcast(fill, result), values));
    return absl::OkStatus();
  }

  // All channels at whole coordinates; the fill value outside of the image.
  struct Reader {
    TensorShape images;
    XlaOp pixels, fill;
    std::vector<int64_t> places;

    XlaOp Read(XlaOp y, XlaOp x) const {
      const int64_t batch = images.dim_size(0), rows = images.dim_size(1),
                    columns = images.dim_size(2), depth = images.dim_size(3);
      XlaOp is_inside = xla::And(xla::Ge(x, ScalarLike(x, 0)), xla::Lt(x, ScalarLike(x, columns)));
      is_inside = xla::And(is_inside, xla::Ge(y, ScalarLike(y, 0)));
      is_inside = xla::And(is_inside, xla::Lt(y, ScalarLike(y, rows)));
      const auto whole = [&](XlaOp coordinate) {
        return xla::ConvertElementType(
            xla::Select(is_inside, coordinate, xla::ZerosLike(coordinate)), xla::S64);
      };
      const XlaOp image = xla::Iota(x.builder(), xla::ShapeUtil::MakeShape(xla::S64, places), 0);
      const XlaOp number =
          (image * ScalarLike(image, rows) + whole(y)) * ScalarLike(image, columns) + whole(x);
      xla::GatherDimensionNumbers dimensions;
      dimensions.set_index_vector_dim(3);
      dimensions.add_collapsed_slice_dims(0);
      dimensions.add_offset_dims(3);
      dimensions.add_start_index_map(0);
      const XlaOp read = xla::Gather(xla::Reshape(pixels, {batch * rows * columns, depth}), number,
                                     dimensions, {1, depth});
      std::vector<int64_t> result = places;
      result.push_back(depth);
      return xla::Select(xla::BroadcastInDim(is_inside, result, {0, 1, 2}), read,
                         xla::Broadcast(fill, result));
    }
  };

  static XlaOp Interpolate(const Reader& reader, XlaOp y, XlaOp x) {
    const XlaOp top = xla::Floor(y), left = xla::Floor(x), one = ScalarLike(x, 1);
    const XlaOp bottom = top + one, right = left + one;
    const auto weighted = [&](XlaOp row, XlaOp column, XlaOp weight) {
      return xla::Mul(xla::ConvertElementType(reader.Read(row, column), xla::F32), weight,
                      {0, 1, 2});
    };
    const auto in_row = [&](XlaOp row) {
      return weighted(row, left, right - x) + weighted(row, right, x - left);
    };
    return xla::Mul(in_row(top), bottom - y, {0, 1, 2}) +
           xla::Mul(in_row(bottom), y - top, {0, 1, 2});
  }

  std::string interpolation_, fill_mode_;
};

}  // namespace

void RegisterProjectiveTransforms() {
  RegisterTranslation<ProjectiveTransform<2>>(std::move(
      TranslationOf("ImageProjectiveTransformV2").CompileTimeConstantInput("output_shape")));
  RegisterTranslation<ProjectiveTransform<3>>(std::move(
      TranslationOf("ImageProjectiveTransformV3").CompileTimeConstantInput("output_shape")));
}

}  // namespace onexpu::tf_plugin
