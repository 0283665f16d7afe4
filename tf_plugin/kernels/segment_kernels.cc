// Segment reductions on XPU: SegmentSum and its kind, and SparseSegmentSum and its kind, which
// reduce rows that indices pick.
//
// How many segments there are is the last number plus one. So the numbers are checked first, on the
// device, and the reduction is launched when the verdict is on the host.
#include <atomic>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tf_plugin/kernels/ffi_attributes.h"
#include "tf_plugin/kernels/host_read.h"
#include "tf_plugin/kernels/launch.h"
#include "tf_plugin/kernels/registration.h"
#include "tf_plugin/kernels/tensor_buffers.h"
#include "tf_plugin/placement_counters.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::AsyncOpKernel;
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
class SegmentKernel final : public AsyncOpKernel {
 public:
  explicit SegmentKernel(OpKernelConstruction* construction)
      : AsyncOpKernel(construction),
        executions_(PlacementCounter(Route::kSyclKernel, type_string())),
        is_sparse_(absl::StartsWith(type_string(), "Sparse")),
        knows_segments_(absl::EndsWith(type_string(), "WithNumSegments")) {
    attributes_.Add("combiner", CombinerOf(type_string())).Build();
  }

  void ComputeAsync(OpKernelContext* context, DoneCallback done) override {
    OP_REQUIRES_OK_ASYNC(context, CheckShapes(context), done);
    if (ids(context).NumElements() == 0) {
      OP_REQUIRES_OK_ASYNC(context, OutputEmpty(context), done);
      done();
      return;
    }
    absl::StatusOr<OwnedBuffer> verdict = Check(context);
    OP_REQUIRES_OK_ASYNC(context, verdict.status(), done);
    ReadBytesAsync(
        context, *std::move(verdict),
        [this, context, done = std::move(done)](absl::StatusOr<std::vector<uint8_t>> read) {
          OP_REQUIRES_OK_ASYNC(context, read.status(), done);
          OP_REQUIRES_OK_ASYNC(context, Reduce(context, *read), done);
          done();
        });
  }

 private:
  // What the check says, as segment_reduce.h has it.
  struct Verdict {
    int64_t descends, is_outside, first, last;
  };

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

  absl::StatusOr<OwnedBuffer> Check(OpKernelContext* context) const {
    TF_ASSIGN_OR_RETURN(const std::vector<PJRT_Buffer*> operands, Numbers(context));
    FfiAttributes attributes;
    attributes.Add("data_rows", data(context).dim_size(0));
    const ResultType verdict = {tensorflow::DT_INT64, TensorShape({4}), kOnexpuMemoryPinnedHost};
    TF_ASSIGN_OR_RETURN(
        std::vector<OwnedBuffer> results,
        Launch(*context, "onexpu.segment_check", operands, {verdict}, attributes.Build()));
    return std::move(results.front());
  }

  absl::Status Reduce(OpKernelContext* context, absl::Span<const uint8_t> read) const {
    Verdict verdict;
    if (read.size() != sizeof(verdict)) {
      return absl::InternalError("onexpu: onexpu.segment_check gave no verdict");
    }
    std::memcpy(&verdict, read.data(), sizeof(verdict));
    if (verdict.first < 0 || verdict.last < 0) {
      return absl::InvalidArgumentError("segment ids must be >= 0");
    }
    if (verdict.descends != 0) {
      return absl::InvalidArgumentError("segment ids are not increasing");
    }
    if (verdict.is_outside != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("indices has values out of range [0, ", data(context).dim_size(0), ")"));
    }
    const int64_t segments = knows_segments_ ? KnownSegments(context) : verdict.last + 1;
    if (verdict.last >= segments) {
      return absl::InvalidArgumentError(absl::StrCat(
          "segment ids must be < num_segments: ", verdict.last, " is not below ", segments));
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
    Count(executions_);
    return SetOutput(context, 0, shape, std::move(results.front()));
  }

  std::atomic<uint64_t>& executions_;
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
