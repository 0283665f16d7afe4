// Where on XPU: coordinates of the elements that are not zero. tf.boolean_mask works through it.
//
// How many there are is known when the kernel has run: it fills an upper bound, and the output is a
// view of the leading rows.
#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

#include "tf_plugin/kernels/device_types.h"
#include "tf_plugin/kernels/ffi_attributes.h"
#include "tf_plugin/kernels/host_read.h"
#include "tf_plugin/kernels/launch.h"
#include "tf_plugin/kernels/registration.h"
#include "tf_plugin/kernels/tensor_buffers.h"
#include "tf_plugin/placement_counters.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::AsyncOpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

class WhereKernel final : public AsyncOpKernel {
 public:
  explicit WhereKernel(OpKernelConstruction* construction)
      : AsyncOpKernel(construction),
        executions_(PlacementCounter(Route::kSyclKernel, type_string())) {}

  void ComputeAsync(OpKernelContext* context, DoneCallback done) override {
    const Tensor& input = context->input(0);
    if (input.NumElements() == 0) {
      OP_REQUIRES_OK_ASYNC(context, OutputEmpty(context, 0, input.dims()), done);
      done();
      return;
    }
    absl::StatusOr<std::vector<OwnedBuffer>> results = Find(*context, input);
    OP_REQUIRES_OK_ASYNC(context, results.status(), done);
    Count(executions_);
    // std::function wants copyable captures: the coordinates travel as a raw pointer.
    PJRT_Buffer* const coordinates = (*results)[0].release();
    ReadBytesAsync(
        context, std::move((*results)[1]),
        [context, coordinates, done = std::move(done)](absl::StatusOr<std::vector<uint8_t>> count) {
          const OwnedBuffer owned(coordinates);
          OP_REQUIRES_OK_ASYNC(context, count.status(), done);
          OP_REQUIRES_OK_ASYNC(context, OutputRows(context, owned.get(), *count), done);
          done();
        });
  }

 private:
  static absl::StatusOr<std::vector<OwnedBuffer>> Find(const OpKernelContext& context,
                                                       const Tensor& input) {
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * operand, BufferOf(input));
    const ResultType types[] = {
        {tensorflow::DT_INT64, TensorShape({input.NumElements(), input.dims()})},
        {tensorflow::DT_INT64, TensorShape({}), kOnexpuMemoryPinnedHost},
    };
    FfiAttributes attributes;
    return Launch(context, "onexpu.where", {operand}, types, attributes.Build());
  }

  static absl::Status OutputRows(OpKernelContext* context, PJRT_Buffer* coordinates,
                                 absl::Span<const uint8_t> count_bytes) {
    int64_t count = 0;
    if (count_bytes.size() != sizeof(count)) {
      return absl::InternalError("onexpu: onexpu.where gave a count that is not one int64");
    }
    std::memcpy(&count, count_bytes.data(), sizeof(count));
    const int rank = context->input(0).dims();
    if (count == 0 || rank == 0) return OutputEmpty(context, count, rank);
    const TensorShape shape({count, rank});
    TF_ASSIGN_OR_RETURN(OwnedBuffer view, ViewOf(coordinates, shape));
    return SetOutput(context, 0, shape, std::move(view));
  }

  // No rows, or the one coordinate-less row of a scalar that is not zero.
  static absl::Status OutputEmpty(OpKernelContext* context, int64_t rows, int rank) {
    const TensorShape shape({rows, rank});
    TF_ASSIGN_OR_RETURN(OwnedBuffer buffer,
                        UninitializedBuffer(*context, tensorflow::DT_INT64, shape));
    return SetOutput(context, 0, shape, std::move(buffer));
  }

  std::atomic<uint64_t>& executions_;
};

}  // namespace

void RegisterWhereKernel() {
  Register<WhereKernel>(XpuKernel("Where").TypeConstraint("T", kDeviceTypes));
}

}  // namespace onexpu::tf_plugin
