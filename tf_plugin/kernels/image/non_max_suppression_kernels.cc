// NonMaxSuppressionV2 to V4 on XPU.
//
// How many boxes are taken is known when the kernel has run: without padding, the output is a view
// of the beginning of what it filled.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tf_plugin/kernels/support/device_count.h"
#include "tf_plugin/kernels/support/dynamic_shape_kernel.h"
#include "tf_plugin/kernels/support/ffi_attributes.h"
#include "tf_plugin/kernels/support/launch.h"
#include "tf_plugin/kernels/support/registration.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "tf_plugin/kernels/support/zero_buffer.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

class NonMaxSuppressionKernel final : public DynamicShapeKernel {
 public:
  explicit NonMaxSuppressionKernel(OpKernelConstruction* construction)
      : DynamicShapeKernel(construction),
        has_score_threshold_(num_inputs() == 5),
        gives_count_(num_outputs() == 2) {
    if (gives_count_)
      OP_REQUIRES_OK(construction, construction->GetAttr("pad_to_max_output_size", &pads_));
  }

 private:
  struct Limits {
    int64_t most;
    float iou_threshold;
    float score_threshold = std::numeric_limits<float>::lowest();
  };

  absl::StatusOr<Limits> LimitsOf(OpKernelContext* context) const {
    const TensorShape& boxes = context->input(0).shape();
    const TensorShape& scores = context->input(1).shape();
    if (boxes.dims() != 2 || boxes.dim_size(1) != 4) {
      return absl::InvalidArgumentError(
          absl::StrCat("boxes must have shape [boxes, 4], not ", boxes.DebugString()));
    }
    if (scores.dims() != 1 || scores.dim_size(0) != boxes.dim_size(0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("scores must be one per box: ", scores.DebugString(), " for boxes ",
                       boxes.DebugString()));
    }
    for (int i = 2; i < context->num_inputs(); ++i) {
      if (context->input(i).dims() != 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("max_output_size and thresholds must be scalars, got shape ",
                         context->input(i).shape().DebugString()));
      }
    }
    Limits limits = {context->input(2).scalar<int32_t>()(), context->input(3).scalar<float>()()};
    if (has_score_threshold_) limits.score_threshold = context->input(4).scalar<float>()();
    if (limits.most < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("max_output_size must be non-negative, got ", limits.most));
    }
    if (!(limits.iou_threshold >= 0 && limits.iou_threshold <= 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("iou_threshold must be in [0, 1], got ", limits.iou_threshold));
    }
    return limits;
  }

  absl::Status OutputNone(OpKernelContext* context, int64_t padding) const {
    const TensorShape shape({padding});
    TF_ASSIGN_OR_RETURN(OwnedBuffer zeros, ZeroBuffer(*context, tensorflow::DT_INT32, shape));
    TF_RETURN_IF_ERROR(SetOutput(context, 0, shape, std::move(zeros)));
    if (!gives_count_) return absl::OkStatus();
    TF_ASSIGN_OR_RETURN(OwnedBuffer count,
                        ZeroBuffer(*context, tensorflow::DT_INT32, TensorShape({})));
    return SetOutput(context, 1, TensorShape({}), std::move(count));
  }

  absl::StatusOr<std::vector<OwnedBuffer>> Start(OpKernelContext* context) override {
    TF_ASSIGN_OR_RETURN(const Limits limits, LimitsOf(context));
    const int64_t boxes = context->input(0).dim_size(0);
    const int64_t filled = pads_ ? limits.most : std::min(limits.most, boxes);
    if (boxes == 0 || filled == 0) {
      TF_RETURN_IF_ERROR(OutputNone(context, filled));
      return std::vector<OwnedBuffer>();
    }
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * corners, BufferOf(context->input(0)));
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * scores, BufferOf(context->input(1)));
    FfiAttributes attributes;
    attributes.Add("iou_threshold", limits.iou_threshold)
        .Add("score_threshold", limits.score_threshold);
    const ResultType types[] = {{tensorflow::DT_INT32, TensorShape({filled})},
                                {tensorflow::DT_INT32, TensorShape({})},
                                NumbersType(1)};
    TF_ASSIGN_OR_RETURN(std::vector<OwnedBuffer> selection,
                        Launch(*context, "onexpu.non_max_suppression", {corners, scores}, types,
                               attributes.Build()));
    if (gives_count_)
      TF_RETURN_IF_ERROR(SetOutput(context, 1, TensorShape({}), std::move(selection[1])));
    if (!pads_) return selection;
    TF_RETURN_IF_ERROR(SetOutput(context, 0, TensorShape({filled}), std::move(selection[0])));
    return std::vector<OwnedBuffer>();
  }

  absl::Status Finish(OpKernelContext* context, std::vector<OwnedBuffer>& results,
                      absl::Span<const int64_t> numbers) override {
    TF_RETURN_IF_ERROR(CheckCount(*context, numbers[0], context->input(0).dim_size(0)));
    const TensorShape shape({numbers[0]});
    TF_ASSIGN_OR_RETURN(OwnedBuffer view, ViewOf(results[0].get(), shape));
    return SetOutput(context, 0, shape, std::move(view));
  }

  const bool has_score_threshold_, gives_count_;
  bool pads_ = false;
};

}  // namespace

void RegisterNonMaxSuppressionKernels() {
  for (const char* const op :
       {"NonMaxSuppressionV2", "NonMaxSuppressionV3", "NonMaxSuppressionV4"}) {
    XpuKernel kernel(op);
    kernel.TypeConstraint<float>("T").TypeConstraint<float>("T_threshold");
    kernel.HostMemory("max_output_size").HostMemory("iou_threshold");
    if (op != absl::string_view("NonMaxSuppressionV2")) kernel.HostMemory("score_threshold");
    Register<NonMaxSuppressionKernel>(kernel);
  }
}

}  // namespace onexpu::tf_plugin
