// Unique and its kind on XPU: distinct elements, in the order in which they first come.
//
// How many there are is known when the kernel has run: it fills upper bounds, and the outputs are
// views of their beginnings.
#include <atomic>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tf_plugin/kernels/device_types.h"
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

class UniqueKernel final : public AsyncOpKernel {
 public:
  explicit UniqueKernel(OpKernelConstruction* construction)
      : AsyncOpKernel(construction),
        executions_(PlacementCounter(Route::kSyclKernel, type_string())),
        with_counts_(num_outputs() == 3) {
    attributes_.Build();
  }

  void ComputeAsync(OpKernelContext* context, DoneCallback done) override {
    OP_REQUIRES_OK_ASYNC(context, CheckShapes(context), done);
    if (context->input(0).NumElements() == 0) {
      OP_REQUIRES_OK_ASYNC(context, OutputEmpty(context), done);
      done();
      return;
    }
    absl::StatusOr<std::vector<OwnedBuffer>> found = Find(context);
    OP_REQUIRES_OK_ASYNC(context, found.status(), done);
    Count(executions_);
    // std::function wants copyable captures.
    auto results = std::make_shared<std::vector<OwnedBuffer>>(*std::move(found));
    OwnedBuffer total = std::move(results->back());
    results->pop_back();
    ReadBytesAsync(context, std::move(total),
                   [this, context, results,
                    done = std::move(done)](absl::StatusOr<std::vector<uint8_t>> read) {
                     OP_REQUIRES_OK_ASYNC(context, read.status(), done);
                     OP_REQUIRES_OK_ASYNC(context, Output(context, *results, *read), done);
                     done();
                   });
  }

 private:
  absl::Status CheckShapes(OpKernelContext* context) const {
    const TensorShape& shape = context->input(0).shape();
    if (context->num_inputs() == 2 && context->input(1).NumElements() != 0) {
      const Tensor& axis = context->input(1);
      if (axis.dims() != 1 || axis.NumElements() != 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("axis should be a vector of at most one element, got shape ",
                         axis.shape().DebugString()));
      }
      const int64_t value =
          axis.dtype() == tensorflow::DT_INT32 ? axis.vec<int32_t>()(0) : axis.vec<int64_t>()(0);
      if (value < -shape.dims() || value >= shape.dims()) {
        return absl::InvalidArgumentError(absl::StrCat("axis expects to be in [", -shape.dims(),
                                                       ", ", shape.dims(), "), got ", value));
      }
      if (shape.dims() > 1) {
        return absl::UnimplementedError(absl::StrCat(
            type_string(), " of slices along axis ", value, " of ", shape.DebugString(),
            " has no kernel on XPU, only that of a vector; put the op under tf.device('/CPU:0')"));
      }
    }
    if (shape.dims() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("unique expects a 1D vector, got shape ", shape.DebugString()));
    }
    return absl::OkStatus();
  }

  absl::Status OutputEmpty(OpKernelContext* context) const {
    for (int i = 0; i < num_outputs(); ++i) {
      TF_ASSIGN_OR_RETURN(OwnedBuffer empty,
                          UninitializedBuffer(*context, output_type(i), TensorShape({0})));
      TF_RETURN_IF_ERROR(SetOutput(context, i, TensorShape({0}), std::move(empty)));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<OwnedBuffer>> Find(OpKernelContext* context) const {
    const Tensor& input = context->input(0);
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * operand, BufferOf(input));
    const ResultType types[] = {
        {input.dtype(), input.shape()},
        {output_type(1), input.shape()},
        {output_type(1), input.shape()},
        {tensorflow::DT_INT64, TensorShape({}), kOnexpuMemoryPinnedHost},
    };
    return Launch(*context, "onexpu.unique", {operand}, types, attributes_.attrs());
  }

  // `results`: elements and counts, of which the beginning is filled, around the indices.
  absl::Status Output(OpKernelContext* context, std::vector<OwnedBuffer>& results,
                      absl::Span<const uint8_t> read) const {
    int64_t total = 0;
    if (read.size() != sizeof(total)) {
      return absl::InternalError("onexpu: onexpu.unique gave a count that is not one int64");
    }
    std::memcpy(&total, read.data(), sizeof(total));
    const TensorShape distinct({total});
    TF_ASSIGN_OR_RETURN(OwnedBuffer elements, ViewOf(results[0].get(), distinct));
    TF_RETURN_IF_ERROR(SetOutput(context, 0, distinct, std::move(elements)));
    TF_RETURN_IF_ERROR(SetOutput(context, 1, context->input(0).shape(), std::move(results[1])));
    if (!with_counts_) return absl::OkStatus();
    TF_ASSIGN_OR_RETURN(OwnedBuffer counts, ViewOf(results[2].get(), distinct));
    return SetOutput(context, 2, distinct, std::move(counts));
  }

  std::atomic<uint64_t>& executions_;
  const bool with_counts_;
  FfiAttributes attributes_;
};

}  // namespace

void RegisterUniqueKernels() {
  for (const char* const op : {"Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2"}) {
    XpuKernel kernel(op);
    kernel.TypeConstraint("T", kRealDeviceTypes);
    if (absl::EndsWith(op, "V2")) kernel.HostMemory("axis");
    Register<UniqueKernel>(kernel);
  }
}

}  // namespace onexpu::tf_plugin
