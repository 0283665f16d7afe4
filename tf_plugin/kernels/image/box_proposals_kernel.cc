// GenerateBoundingBoxProposals on XPU. TensorFlow has a kernel of it for CUDA alone.
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tf_plugin/kernels/support/counted_kernel.h"
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

// Of the operands; the following are scalars on the host.
enum Operand { kScores, kDeltas, kImages, kAnchors, kThreshold, kPreNmsTopn, kMinSize };

class BoxProposalsKernel final : public CountedKernel {
 public:
  explicit BoxProposalsKernel(OpKernelConstruction* construction) : CountedKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("post_nms_topn", &post_nms_topn_));
    OP_REQUIRES(construction, post_nms_topn_ > 0,
                absl::InvalidArgumentError(
                    absl::StrCat("post_nms_topn must be positive, got ", post_nms_topn_)));
  }

 private:
  struct Limits {
    float threshold, min_size;
    int64_t pre_nms_topn;
  };

  static absl::Status CheckShapes(OpKernelContext* context) {
    const auto shape = [&](Operand operand) { return context->input(operand).shape(); };
    if (shape(kScores).dims() != 4) {
      return absl::InvalidArgumentError(
          absl::StrCat("scores must have shape [images, height, width, anchors], not ",
                       shape(kScores).DebugString()));
    }
    const int64_t images = shape(kScores).dim_size(0), height = shape(kScores).dim_size(1),
                  width = shape(kScores).dim_size(2), corners = 4 * shape(kScores).dim_size(3);
    const std::pair<Operand, TensorShape> wanted[] = {
        {kDeltas, TensorShape({images, height, width, corners})},
        {kImages, TensorShape({images, 5})},
        {kAnchors, TensorShape({height, width, corners})},
        {kThreshold, TensorShape({})},
        {kPreNmsTopn, TensorShape({})},
        {kMinSize, TensorShape({})}};
    static constexpr const char* kNames[] = {"scores",  "bbox_deltas",   "image_info",
                                             "anchors", "nms_threshold", "pre_nms_topn",
                                             "min_size"};
    for (const auto& [operand, expected] : wanted) {
      if (shape(operand) == expected) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          kNames[operand], " must have shape ", expected.DebugString(), " for scores of shape ",
          shape(kScores).DebugString(), ", not ", shape(operand).DebugString()));
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<Limits> LimitsOf(OpKernelContext* context) {
    const Limits limits = {context->input(kThreshold).scalar<float>()(),
                           context->input(kMinSize).scalar<float>()(),
                           context->input(kPreNmsTopn).scalar<int32_t>()()};
    if (!(limits.threshold >= 0 && limits.threshold <= 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("nms_threshold should be between 0 and 1, got ", limits.threshold));
    }
    if (limits.pre_nms_topn <= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("pre_nms_topn should be greater than 0, got ", limits.pre_nms_topn));
    }
    return limits;
  }

  static absl::Status OutputZeros(OpKernelContext* context, int output, const TensorShape& shape) {
    TF_ASSIGN_OR_RETURN(OwnedBuffer zeros, ZeroBuffer(*context, tensorflow::DT_FLOAT, shape));
    return SetOutput(context, output, shape, std::move(zeros));
  }

  absl::Status Run(OpKernelContext* context) const override {
    TF_RETURN_IF_ERROR(CheckShapes(context));
    TF_ASSIGN_OR_RETURN(const Limits limits, LimitsOf(context));
    const int64_t images = context->input(kScores).dim_size(0);
    const TensorShape boxes({images, post_nms_topn_, 4}), scores({images, post_nms_topn_});
    if (images == 0) {
      TF_RETURN_IF_ERROR(OutputUninitialized(context, 0, boxes));
      return OutputUninitialized(context, 1, scores);
    }
    if (context->input(kScores).NumElements() == 0) {
      TF_RETURN_IF_ERROR(OutputZeros(context, 0, boxes));
      return OutputZeros(context, 1, scores);
    }
    std::vector<PJRT_Buffer*> operands;
    for (const Operand operand : {kScores, kDeltas, kImages, kAnchors}) {
      TF_ASSIGN_OR_RETURN(operands.emplace_back(), BufferOf(context->input(operand)));
    }
    const ResultType types[] = {{tensorflow::DT_FLOAT, boxes}, {tensorflow::DT_FLOAT, scores}};
    FfiAttributes attributes;
    attributes.Add("nms_threshold", limits.threshold)
        .Add("min_size", limits.min_size)
        .Add("pre_nms_topn", limits.pre_nms_topn);
    TF_ASSIGN_OR_RETURN(std::vector<OwnedBuffer> made, Launch(*context, "onexpu.box_proposals",
                                                              operands, types, attributes.Build()));
    TF_RETURN_IF_ERROR(SetOutput(context, 0, boxes, std::move(made[0])));
    return SetOutput(context, 1, scores, std::move(made[1]));
  }

  int64_t post_nms_topn_ = 0;
};

}  // namespace

void RegisterBoxProposalsKernel() {
  XpuKernel kernel("GenerateBoundingBoxProposals");
  kernel.HostMemory("nms_threshold").HostMemory("pre_nms_topn").HostMemory("min_size");
  Register<BoxProposalsKernel>(kernel);
}

}  // namespace onexpu::tf_plugin
