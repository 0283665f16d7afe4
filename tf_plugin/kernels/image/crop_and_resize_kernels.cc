// CropAndResize, CropAndResizeGradImage and CropAndResizeGradBoxes on XPU.
//
// Shapes are checked here as TensorFlow's CPU kernel checks them. Values are checked on the device,
// at the same time as the kernel runs: it reads nothing that a wrong box index would point at. Only
// the verdict comes to the host, and an op with wrong values fails as it does on the CPU.
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tf_plugin/core/placement_counters.h"
#include "tf_plugin/kernels/support/ffi_attributes.h"
#include "tf_plugin/kernels/support/host_read.h"
#include "tf_plugin/kernels/support/launch.h"
#include "tf_plugin/kernels/support/registration.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "tf_plugin/kernels/support/zero_buffer.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::AsyncOpKernel;
using ::tensorflow::DataType;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

absl::Status Require(bool condition, absl::string_view message, const TensorShape& shape) {
  if (condition) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(message, shape.DebugString()));
}

absl::Status CheckBoxes(const Tensor& boxes, const Tensor& box_index) {
  TF_RETURN_IF_ERROR(Require(boxes.dims() == 2, "boxes must be 2-D, got: ", boxes.shape()));
  TF_RETURN_IF_ERROR(
      Require(boxes.dim_size(1) == 4, "boxes must have 4 columns, got: ", boxes.shape()));
  TF_RETURN_IF_ERROR(Require(box_index.dims() == 1, "box_indices must be rank 1 but is shape ",
                             box_index.shape()));
  return Require(box_index.dim_size(0) == boxes.dim_size(0), "box_index has incompatible shape ",
                 box_index.shape());
}

absl::Status CheckImage(const TensorShape& image) {
  TF_RETURN_IF_ERROR(Require(image.dims() == 4, "image must be 4-D, got: ", image));
  return Require(image.dim_size(1) > 0 && image.dim_size(2) > 0,
                 "image dimensions must be positive, got: ", image);
}

absl::Status CheckGradient(const Tensor& gradient, const Tensor& boxes, const TensorShape& image) {
  TF_RETURN_IF_ERROR(
      Require(gradient.dims() == 4, "grads image must be 4-D, got: ", gradient.shape()));
  TF_RETURN_IF_ERROR(Require(gradient.dim_size(1) > 0 && gradient.dim_size(2) > 0,
                             "grads dimensions must be positive, got: ", gradient.shape()));
  TF_RETURN_IF_ERROR(Require(gradient.dim_size(0) == boxes.dim_size(0),
                             "boxes and grads have incompatible shape ", gradient.shape()));
  return Require(gradient.dim_size(3) == image.dim_size(3),
                 "image and grads have different depths, grads: ", gradient.shape());
}

class BoxKernel : public AsyncOpKernel {
 public:
  explicit BoxKernel(OpKernelConstruction* construction)
      : AsyncOpKernel(construction),
        executions_(PlacementCounter(Route::kSyclKernel, type_string())) {
    OP_REQUIRES_OK(construction, construction->GetAttr("method", &method_));
    OP_REQUIRES(construction, method_ == "bilinear" || method_ == "nearest",
                absl::InvalidArgumentError(
                    absl::StrCat("method must be 'bilinear' or 'nearest', got: ", method_)));
  }

  void ComputeAsync(OpKernelContext* context, DoneCallback done) final {
    absl::StatusOr<Call> call = Prepare(context);
    OP_REQUIRES_OK_ASYNC(context, call.status(), done);
    if (call->result.shape.num_elements() == 0 || call->num_boxes == 0) {
      OP_REQUIRES_OK_ASYNC(context, OutputZeros(context, call->result), done);
      done();
      return;
    }
    absl::StatusOr<OwnedBuffer> verdict = Start(context, *call);
    OP_REQUIRES_OK_ASYNC(context, verdict.status(), done);
    Count(executions_);
    const bool boxes_matter = call->boxes_must_be_finite;
    ReadBytesAsync(
        context, std::move(*verdict),
        [context, boxes_matter, done = std::move(done)](absl::StatusOr<std::vector<uint8_t>> read) {
          OP_REQUIRES_OK_ASYNC(context, read.status(), done);
          int64_t is_outside = 0, is_not_finite = 0;
          std::memcpy(&is_outside, read->data(), sizeof(int64_t));
          std::memcpy(&is_not_finite, read->data() + sizeof(int64_t), sizeof(int64_t));
          OP_REQUIRES_ASYNC(context, is_outside == 0,
                            absl::OutOfRangeError("box_index has values outside [0, batch_size)"),
                            done);
          OP_REQUIRES_ASYNC(
              context, !boxes_matter || is_not_finite == 0,
              absl::InvalidArgumentError("Boxes contains at least one element that is not finite"),
              done);
          done();
        });
  }

 protected:
  // A checked call: what the handler gets and gives.
  struct Call {
    const char* handler;
    std::vector<const Tensor*> operands;
    const Tensor* boxes;
    const Tensor* box_index;
    int64_t num_boxes;
    int64_t batch;
    bool boxes_must_be_finite;
    ResultType result;
  };

  const std::string& method() const { return method_; }
  FfiAttributes& attributes() { return attributes_; }

  virtual absl::StatusOr<Call> Prepare(OpKernelContext* context) const = 0;

 private:
  static absl::Status OutputZeros(OpKernelContext* context, const ResultType& result) {
    TF_ASSIGN_OR_RETURN(OwnedBuffer zeros, ZeroBuffer(*context, result.type, result.shape));
    return SetOutput(context, 0, result.shape, std::move(zeros));
  }

  // Launches the kernel and sets the output; the verdict on the values is on its way.
  absl::StatusOr<OwnedBuffer> Start(OpKernelContext* context, const Call& call) const {
    std::vector<PJRT_Buffer*> operands;
    for (const Tensor* operand : call.operands) {
      TF_ASSIGN_OR_RETURN(PJRT_Buffer * buffer, BufferOf(*operand));
      operands.push_back(buffer);
    }
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * boxes, BufferOf(*call.boxes));
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * box_index, BufferOf(*call.box_index));
    FfiAttributes batch;
    TF_ASSIGN_OR_RETURN(std::vector<OwnedBuffer> verdict,
                        Launch(*context, "onexpu.crop_and_resize_check", {boxes, box_index},
                               {{tensorflow::DT_INT64, TensorShape({2}), kOnexpuMemoryPinnedHost}},
                               batch.Add("batch", call.batch).Build()));
    TF_ASSIGN_OR_RETURN(
        std::vector<OwnedBuffer> results,
        Launch(*context, call.handler, operands, {call.result}, attributes_.attrs()));
    TF_RETURN_IF_ERROR(SetOutput(context, 0, call.result.shape, std::move(results.front())));
    return std::move(verdict.front());
  }

  std::atomic<uint64_t>& executions_;
  std::string method_;
  FfiAttributes attributes_;
};

// Inputs: image, boxes, box_ind, crop_size (on the host).
class CropAndResizeKernel final : public BoxKernel {
 public:
  explicit CropAndResizeKernel(OpKernelConstruction* construction) : BoxKernel(construction) {
    float extrapolation_value = 0;
    OP_REQUIRES_OK(construction,
                   construction->GetAttr("extrapolation_value", &extrapolation_value));
    attributes().Add("method", method()).Add("extrapolation_value", extrapolation_value);
    attributes().Build();
  }

 private:
  absl::StatusOr<Call> Prepare(OpKernelContext* context) const override {
    const Tensor& image = context->input(0);
    const Tensor& boxes = context->input(1);
    const Tensor& box_index = context->input(2);
    const Tensor& crop_size = context->input(3);
    TF_RETURN_IF_ERROR(CheckImage(image.shape()));
    TF_RETURN_IF_ERROR(CheckBoxes(boxes, box_index));
    TF_RETURN_IF_ERROR(Require(crop_size.dims() == 1 && crop_size.NumElements() == 2,
                               "crop_size must have two elements, got: ", crop_size.shape()));
    const int32_t height = crop_size.vec<int32_t>()(0);
    const int32_t width = crop_size.vec<int32_t>()(1);
    if (height <= 0 || width <= 0) {
      return absl::InvalidArgumentError("crop dimensions must be positive");
    }
    TensorShape shape;
    TF_RETURN_IF_ERROR(TensorShape::BuildTensorShape(
        {boxes.dim_size(0), height, width, image.dim_size(3)}, &shape));
    return Call{"onexpu.crop_and_resize",
                {&image, &boxes, &box_index},
                &boxes,
                &box_index,
                boxes.dim_size(0),
                image.dim_size(0),
                true,
                {tensorflow::DT_FLOAT, shape}};
  }
};

// Inputs: grads, boxes, box_ind, image_size (on the host).
class CropAndResizeGradImageKernel final : public BoxKernel {
 public:
  explicit CropAndResizeGradImageKernel(OpKernelConstruction* construction)
      : BoxKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("T", &type_));
    attributes().Add("method", method()).Build();
  }

 private:
  absl::StatusOr<Call> Prepare(OpKernelContext* context) const override {
    const Tensor& gradient = context->input(0);
    const Tensor& boxes = context->input(1);
    const Tensor& box_index = context->input(2);
    const Tensor& image_size = context->input(3);
    TF_RETURN_IF_ERROR(Require(image_size.dims() == 1 && image_size.NumElements() == 4,
                               "image_size must have 4 elements, got: ", image_size.shape()));
    const auto sizes = image_size.vec<int32_t>();
    TensorShape image;
    TF_RETURN_IF_ERROR(
        TensorShape::BuildTensorShape({sizes(0), sizes(1), sizes(2), sizes(3)}, &image));
    TF_RETURN_IF_ERROR(CheckImage(image));
    TF_RETURN_IF_ERROR(CheckBoxes(boxes, box_index));
    TF_RETURN_IF_ERROR(CheckGradient(gradient, boxes, image));
    return Call{"onexpu.crop_and_resize_grad_image",
                {&gradient, &boxes, &box_index},
                &boxes,
                &box_index,
                boxes.dim_size(0),
                image.dim_size(0),
                false,
                {type_, image}};
  }

  DataType type_;
};

// Inputs: grads, image, boxes, box_ind.
class CropAndResizeGradBoxesKernel final : public BoxKernel {
 public:
  explicit CropAndResizeGradBoxesKernel(OpKernelConstruction* construction)
      : BoxKernel(construction) {
    OP_REQUIRES(
        construction, method() == "bilinear",
        absl::InvalidArgumentError(absl::StrCat("method must be 'bilinear', got: ", method())));
    attributes().Build();
  }

 private:
  absl::StatusOr<Call> Prepare(OpKernelContext* context) const override {
    const Tensor& gradient = context->input(0);
    const Tensor& image = context->input(1);
    const Tensor& boxes = context->input(2);
    const Tensor& box_index = context->input(3);
    TF_RETURN_IF_ERROR(CheckImage(image.shape()));
    TF_RETURN_IF_ERROR(CheckBoxes(boxes, box_index));
    TF_RETURN_IF_ERROR(CheckGradient(gradient, boxes, image.shape()));
    return Call{"onexpu.crop_and_resize_grad_boxes",
                {&gradient, &image, &boxes, &box_index},
                &boxes,
                &box_index,
                boxes.dim_size(0),
                image.dim_size(0),
                false,
                {tensorflow::DT_FLOAT, TensorShape({boxes.dim_size(0), 4})}};
  }
};

}  // namespace

void RegisterCropAndResizeKernels() {
  // The types of the images, as the ops allow them.
  constexpr DataType kImages[] = {
      tensorflow::DT_UINT8, tensorflow::DT_UINT16, tensorflow::DT_INT8,
      tensorflow::DT_INT16, tensorflow::DT_INT32,  tensorflow::DT_INT64,
      tensorflow::DT_HALF,  tensorflow::DT_FLOAT,  tensorflow::DT_DOUBLE};
  constexpr DataType kImageGradients[] = {tensorflow::DT_HALF, tensorflow::DT_FLOAT,
                                          tensorflow::DT_DOUBLE};
  Register<CropAndResizeKernel>(
      XpuKernel("CropAndResize").TypeConstraint("T", kImages).HostMemory("crop_size"));
  Register<CropAndResizeGradImageKernel>(XpuKernel("CropAndResizeGradImage")
                                             .TypeConstraint("T", kImageGradients)
                                             .HostMemory("image_size"));
  Register<CropAndResizeGradBoxesKernel>(
      XpuKernel("CropAndResizeGradBoxes").TypeConstraint("T", kImages));
}

}  // namespace onexpu::tf_plugin
