// Segment reductions on XPU: SegmentSum and its kind, and SparseSegmentSum and its kind, which
// reduce rows that indices pick.
//
// How many segments there are is the last number plus one. So the numbers are checked first, on the
// device, and the reduction is launched when the verdict is on the host.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
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

using ::tensorflow::DataType;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

// The op's name without what it reduces.
std::string CombinerOf(absl::string_view op) {
  absl::ConsumePrefix(&op, "Sparse");
  absl::ConsumePrefix(&op, "Segment");
  absl::ConsumeSuffix(&op, "WithNumSegments");
  return absl::AsciiStrToLower(op);
}

// Inputs: data, indices when `is_sparse`, numbers of segments, and how many there are (on the host)
// when the op's name says so.
class SegmentKernel final : public DynamicShapeKernel {
 public:
  explicit SegmentKernel(OpKernelConstruction* construction)
      : DynamicShapeKernel(construction),
        is_sparse_(absl::StartsWith(type_string(), "Sparse")),
        knows_segments_(absl::EndsWith(type_string(), "WithNumSegments")) {
    attributes_.Add("combiner", CombinerOf(type_string())).Build();
  }

 private:
  const Tensor& data(OpKernelContext* context) const { return context->input(0); }
  const Tensor& ids(OpKernelContext* context) const { return context->input(is_sparse_ ? 2 : 1); }

  absl::Status CheckShapes(OpKernelContext* context) const {
    const TensorShape& numbers = ids(context).shape();
    if (numbers.dims() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("segment_ids should be a vector, got shape ", numbers.DebugString()));
    }
    if (data(context).dims() < 1) {
      return absl::InvalidArgumentError("Shape must be at least rank 1");
    }
    if (is_sparse_) {
      const TensorShape& indices = context->input(1).shape();
      if (indices.dims() != 1 || indices.dim_size(0) != numbers.dim_size(0)) {
        return absl::InvalidArgumentError(
            absl::StrCat("segment_ids and indices should have same size: they have shapes ",
                         numbers.DebugString(), " and ", indices.DebugString()));
      }
    } else if (numbers.dim_size(0) != data(context).dim_size(0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("segment_ids should be the same size as dimension 0 of input: they are ",
                       numbers.dim_size(0), " and ", data(context).dim_size(0)));
    }
    if (knows_segments_) {
      const Tensor& segments = context->input(3);
      if (segments.dims() != 0) {
        return absl::InvalidArgumentError(absl::StrCat(
            "num_segments should be a scalar, got shape ", segments.shape().DebugString()));
      }
      if (KnownSegments(context) < 0) {
        return absl::InvalidArgumentError("segment ids must be >= 0");
      }
    }
    return absl::OkStatus();
  }

  static int64_t KnownSegments(OpKernelContext* context) {
    const Tensor& segments = context->input(3);
    return segments.dtype() == tensorflow::DT_INT32 ? segments.scalar<int32_t>()()
                                                    : segments.scalar<int64_t>()();
  }

  absl::StatusOr<TensorShape> ResultShape(OpKernelContext* context, int64_t segments) const {
    TensorShape shape = data(context).shape();
    TF_RETURN_IF_ERROR(shape.SetDimWithStatus(0, segments));
    return shape;
  }

  // No rows: no segments, or as many as the op was told to have, of zeros.
  absl::Status OutputEmpty(OpKernelContext* context) const {
    const int64_t segments = knows_segments_ ? KnownSegments(context) : 0;
    TF_ASSIGN_OR_RETURN(const TensorShape shape, ResultShape(context, segments));
    return OutputZeros(context, shape);
  }

  absl::Status OutputZeros(OpKernelContext* context, const TensorShape& shape) const {
    TF_ASSIGN_OR_RETURN(OwnedBuffer zeros, ZeroBuffer(*context, data(context).dtype(), shape));
    return SetOutput(context, 0, shape, std::move(zeros));
  }

  absl::StatusOr<std::vector<PJRT_Buffer*>> Numbers(OpKernelContext* context) const {
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * numbers, BufferOf(ids(context)));
    std::vector<PJRT_Buffer*> operands = {numbers};
    if (is_sparse_) {
      TF_ASSIGN_OR_RETURN(PJRT_Buffer * indices, BufferOf(context->input(1)));
      operands.push_back(indices);
    }
    return operands;
  }

  // The check.
  absl::StatusOr<std::vector<OwnedBuffer>> Start(OpKernelContext* context) override {
    TF_RETURN_IF_ERROR(CheckShapes(context));
    if (ids(context).NumElements() == 0) {
      TF_RETURN_IF_ERROR(OutputEmpty(context));
      return std::vector<OwnedBuffer>();
    }
    TF_ASSIGN_OR_RETURN(const std::vector<PJRT_Buffer*> operands, Numbers(context));
    FfiAttributes attributes;
    attributes.Add("data_rows", data(context).dim_size(0));
    return Launch(*context, "onexpu.segment_check", operands, {NumbersType(4)}, attributes.Build());
  }

  // The reduction. `verdict`: as segment_reduce.h has it.
  absl::Status Finish(OpKernelContext* context, std::vector<OwnedBuffer>&,
                      absl::Span<const int64_t> verdict) override {
    const int64_t descends = verdict[0], is_outside = verdict[1];
    const int64_t first = verdict[2], last = verdict[3];
    if (!is_sparse_ && first < 0 && last >= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("Segment id ", first, " out of range [0, ", last + 1,
                       "), possibly because 'segment_ids' input is not sorted."));
    }
    if (first < 0 || last < 0) {
      return absl::InvalidArgumentError("segment ids must be >= 0");
    }
    if (descends != 0) {
      return absl::InvalidArgumentError("segment ids are not increasing");
    }
    if (is_outside != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("indices has values out of range [0, ", data(context).dim_size(0), ")"));
    }
    const int64_t segments = knows_segments_ ? KnownSegments(context) : last + 1;
    if (last >= segments) {
      return absl::InvalidArgumentError(
          absl::StrCat("segment ids must be < num_segments: ", last, " is not below ", segments));
    }
    TF_ASSIGN_OR_RETURN(const TensorShape shape, ResultShape(context, segments));
    if (shape.num_elements() == 0) return OutputZeros(context, shape);
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * rows, BufferOf(data(context)));
    std::vector<PJRT_Buffer*> operands = {rows};
    TF_ASSIGN_OR_RETURN(const std::vector<PJRT_Buffer*> numbers, Numbers(context));
    operands.insert(operands.end(), numbers.begin(), numbers.end());
    TF_ASSIGN_OR_RETURN(std::vector<OwnedBuffer> results,
                        Launch(*context, "onexpu.segment_reduce", operands,
                               {ResultType{data(context).dtype(), shape}}, attributes_.attrs()));
    return SetOutput(context, 0, shape, std::move(results.front()));
  }

  const bool is_sparse_, knows_segments_;
  FfiAttributes attributes_;
};

}  // namespace

void RegisterSegmentKernels() {
  constexpr DataType kReal[] = {tensorflow::DT_HALF,  tensorflow::DT_BFLOAT16,
                                tensorflow::DT_FLOAT, tensorflow::DT_DOUBLE,
                                tensorflow::DT_INT32, tensorflow::DT_INT64};
  constexpr DataType kFloating[] = {tensorflow::DT_HALF, tensorflow::DT_BFLOAT16,
                                    tensorflow::DT_FLOAT, tensorflow::DT_DOUBLE};
  for (const char* const op :
       {"SegmentSum", "SegmentMean", "SegmentProd", "SegmentMin", "SegmentMax"}) {
    Register<SegmentKernel>(XpuKernel(op).TypeConstraint("T", kReal));
  }
  for (const char* const op : {"SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"}) {
    Register<SegmentKernel>(XpuKernel(op).TypeConstraint("T", kFloating));
    const std::string sized = absl::StrCat(op, "WithNumSegments");
    Register<SegmentKernel>(
        XpuKernel(sized.c_str()).TypeConstraint("T", kFloating).HostMemory("num_segments"));
  }
}

}  // namespace onexpu::tf_plugin
