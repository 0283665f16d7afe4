// MaxPoolWithArgmax: the greatest element under a window and where it is; and the gradients, which
// follow those places.
//
// A place is the number of an element in its image, or in the batch with include_batch_in_index.
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/util/padding.h"
#include "tf_plugin/translations/image/image_window.h"
#include "tf_plugin/translations/registration.h"
#include "xla/hlo/builder/lib/arithmetic.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/shape_util.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernel;
using ::tensorflow::XlaOpKernelContext;
using ::xla::ScalarLike;
using ::xla::XlaOp;

class ArgmaxPoolingKernel : public XlaOpKernel {
 public:
  explicit ArgmaxPoolingKernel(OpKernelConstruction* construction) : XlaOpKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("ksize", &size_));
    OP_REQUIRES_OK(construction, construction->GetAttr("strides", &strides_));
    OP_REQUIRES_OK(construction, construction->GetAttr("padding", &padding_));
    OP_REQUIRES_OK(construction,
                   construction->GetAttr("include_batch_in_index", &include_batch_in_index_));
    OP_REQUIRES(construction, size_.size() == 4 && strides_.size() == 4,
                absl::InvalidArgumentError(
                    "Sliding window ksize and strides fields must specify 4 dimensions"));
    for (int i = 0; i < 4; ++i) {
      OP_REQUIRES(construction, size_[i] > 0,
                  absl::InvalidArgumentError(
                      absl::StrCat("ksize must be a positive int32 value, got:", size_[i])));
      OP_REQUIRES(construction, strides_[i] > 0,
                  absl::InvalidArgumentError(
                      absl::StrCat("strides must be a positive int32 value, got:", strides_[i])));
    }
    OP_REQUIRES(construction, size_[0] == 1 && strides_[0] == 1,
                absl::UnimplementedError("Pooling is not yet supported on the batch dimension."));
    // TensorFlow's CPU kernel takes it, and does not look across the depth.
    OP_REQUIRES(construction, size_[3] == 1 && strides_[3] == 1,
                absl::UnimplementedError(
                    "onexpu: places are of rows and columns only: ksize and strides must be 1 for "
                    "the depth"));
  }

 protected:
  absl::StatusOr<ImageWindow> FindWindow(XlaOpKernelContext* context) const {
    const TensorShape images = context->InputShape(0);
    if (images.dims() != 4) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor_in must be 4-dimensional, got ", images.DebugString()));
    }
    if (images.num_elements() == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor_in must not be empty, got ", images.DebugString()));
    }
    return ImageWindow::Create(images, {images.dim_size(1), size_[1], strides_[1], 1},
                               {images.dim_size(2), size_[2], strides_[2], 1}, padding_);
  }

  // Places in the batch, whatever they were given in.
  XlaOp InBatch(XlaOp places, absl::Span<const int64_t> shape, int64_t image_size) const {
    places = xla::ConvertElementType(places, xla::S64);
    if (include_batch_in_index_) return places;
    const XlaOp image = xla::Iota(places.builder(), xla::ShapeUtil::MakeShape(xla::S64, shape), 0);
    return places + image * ScalarLike(image, image_size);
  }
  bool include_batch_in_index() const { return include_batch_in_index_; }

 private:
  std::vector<int32_t> size_, strides_;
  tensorflow::Padding padding_;
  bool include_batch_in_index_ = false;
};

class MaxPoolWithArgmax final : public ArgmaxPoolingKernel {
 public:
  using ArgmaxPoolingKernel::ArgmaxPoolingKernel;

  void Compile(XlaOpKernelContext* context) override {
    const absl::StatusOr<ImageWindow> window = FindWindow(context);
    OP_REQUIRES_OK(context, window.status());
    xla::XlaBuilder* const builder = context->builder();
    const xla::PrimitiveType type = context->input_xla_type(0);
    const XlaOp images = window->Pad(context->Input(0), xla::Zero(builder, type));
    const XlaOp is_inside = window->IsInside(builder);
    const std::vector<int64_t> shape = window->ResultShape();
    const xla::Shape places_shape = xla::ShapeUtil::MakeShape(xla::S64, shape);
    XlaOp greatest = xla::Broadcast(xla::Zero(builder, type), shape);
    XlaOp place = xla::Broadcast(xla::ConstantR0<int64_t>(builder, -1), shape);
    // Of the element under the window's first place, which may be padding.
    const XlaOp first_row =
        xla::Iota(builder, places_shape, 1) * ScalarLike(place, window->rows.stride) -
        ScalarLike(place, window->rows.padding_before);
    const XlaOp first_column =
        xla::Iota(builder, places_shape, 2) * ScalarLike(place, window->columns.stride) -
        ScalarLike(place, window->columns.padding_before);
    const XlaOp channel = xla::Iota(builder, places_shape, 3);
    window->ForEach([&](int64_t, int64_t row, int64_t column) {
      const XlaOp value = window->Under(images, row, column);
      const XlaOp here =
          ((first_row + ScalarLike(place, row)) * ScalarLike(place, window->columns.input) +
           first_column + ScalarLike(place, column)) *
              ScalarLike(place, window->depth) +
          channel;
      // The first element wins against none, even if it is no number.
      const XlaOp is_better =
          xla::And(window->Under(is_inside, row, column),
                   xla::Or(xla::Gt(value, greatest), xla::Lt(place, ScalarLike(place, 0))));
      greatest = xla::Select(is_better, value, greatest);
      place = xla::Select(is_better, here, place);
    });
    if (include_batch_in_index()) {
      const int64_t image_size = window->rows.input * window->columns.input * window->depth;
      place = place + xla::Iota(builder, places_shape, 0) * ScalarLike(place, image_size);
    }
    context->SetOutput(0, greatest);
    context->SetOutput(1, xla::ConvertElementType(place, context->output_xla_type(1)));
  }
};

// Inputs: images, a gradient, places.
class MaxPoolGradWithArgmax final : public ArgmaxPoolingKernel {
 public:
  using ArgmaxPoolingKernel::ArgmaxPoolingKernel;

  void Compile(XlaOpKernelContext* context) override {
    const absl::StatusOr<ImageWindow> window = FindWindow(context);
    OP_REQUIRES_OK(context, window.status());
    const TensorShape results(window->ResultShape());
    for (const int i : {1, 2}) {
      OP_REQUIRES(context, context->InputShape(i) == results,
                  absl::InvalidArgumentError(absl::StrCat(
                      "Expected ", i == 1 ? "grad" : "argmax", " shape to be ",
                      results.DebugString(), ", but got ", context->InputShape(i).DebugString())));
    }
    const TensorShape images = context->InputShape(0);
    const xla::PrimitiveType type = context->input_xla_type(0);
    const int64_t count = results.num_elements();
    const XlaOp places = xla::Reshape(
        InBatch(context->Input(2), window->ResultShape(), images.num_elements() / window->batch),
        {count, 1});
    xla::ScatterDimensionNumbers dimensions;
    dimensions.set_index_vector_dim(1);
    dimensions.add_inserted_window_dims(0);
    dimensions.add_scatter_dims_to_operand_dims(0);
    const XlaOp zeros =
        xla::Broadcast(xla::Zero(context->builder(), type), {images.num_elements()});
    const XlaOp sum =
        xla::Scatter(zeros, places, xla::Reshape(context->Input(1), {count}),
                     xla::CreateScalarAddComputation(type, context->builder()), dimensions);
    context->SetOutput(0, xla::Reshape(sum, images.dim_sizes()));
  }
};

// Inputs: images, a gradient of theirs, places.
class MaxPoolGradGradWithArgmax final : public ArgmaxPoolingKernel {
 public:
  using ArgmaxPoolingKernel::ArgmaxPoolingKernel;

  void Compile(XlaOpKernelContext* context) override {
    const absl::StatusOr<ImageWindow> window = FindWindow(context);
    OP_REQUIRES_OK(context, window.status());
    const TensorShape images = context->InputShape(0), results(window->ResultShape());
    OP_REQUIRES(context, context->InputShape(1) == images,
                absl::InvalidArgumentError(absl::StrCat("Expected grad shape to be ",
                                                        images.DebugString(), ", but got ",
                                                        context->InputShape(1).DebugString())));
    OP_REQUIRES(context, context->InputShape(2) == results,
                absl::InvalidArgumentError(absl::StrCat("Expected argmax shape to be ",
                                                        results.DebugString(), ", but got ",
                                                        context->InputShape(2).DebugString())));
    const int64_t count = results.num_elements();
    const XlaOp places = xla::Reshape(
        InBatch(context->Input(2), window->ResultShape(), images.num_elements() / window->batch),
        {count, 1});
    xla::GatherDimensionNumbers dimensions;
    dimensions.set_index_vector_dim(1);
    dimensions.add_collapsed_slice_dims(0);
    dimensions.add_start_index_map(0);
    const XlaOp flat = xla::Reshape(context->Input(1), {images.num_elements()});
    context->SetOutput(
        0, xla::Reshape(xla::Gather(flat, places, dimensions, {1}), window->ResultShape()));
  }
};

}  // namespace

void RegisterArgmaxPooling() {
  RegisterTranslation<MaxPoolWithArgmax>(TranslationOf("MaxPoolWithArgmax"));
  RegisterTranslation<MaxPoolGradWithArgmax>(TranslationOf("MaxPoolGradWithArgmax"));
  RegisterTranslation<MaxPoolGradGradWithArgmax>(TranslationOf("MaxPoolGradGradWithArgmax"));
}

}  // namespace onexpu::tf_plugin
