// Multinomial on XPU, which tf.random.categorical calls. As on TensorFlow's other accelerators, the
// same seeds give the same samples in every process, but not those of the CPU device.
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/util/guarded_philox_random.h"
#include "tf_plugin/kernels/ffi_attributes.h"
#include "tf_plugin/kernels/launch.h"
#include "tf_plugin/kernels/philox_attributes.h"
#include "tf_plugin/kernels/registration.h"
#include "tf_plugin/kernels/tensor_buffers.h"
#include "tf_plugin/placement_counters.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

// Inputs: logits, and how many samples (on the host). The state of the random numbers stays there,
// too.
class MultinomialKernel final : public OpKernel {
 public:
  explicit MultinomialKernel(OpKernelConstruction* construction)
      : OpKernel(construction), executions_(PlacementCounter(Route::kSyclKernel, type_string())) {
    OP_REQUIRES_OK(construction, generator_.Init(construction));
  }

  void Compute(OpKernelContext* context) override { OP_REQUIRES_OK(context, Draw(context)); }

 private:
  absl::Status Draw(OpKernelContext* context) {
    const Tensor& logits = context->input(0);
    const Tensor& count = context->input(1);
    if (logits.dims() != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("logits should be a matrix, got shape ", logits.shape().DebugString()));
    }
    if (count.dims() != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("num_samples should be a scalar, got shape ", count.shape().DebugString()));
    }
    const int64_t samples = count.scalar<int32_t>()();
    if (samples < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("num_samples should be non-negative, got ", samples));
    }
    if (logits.dim_size(1) == 0) {
      return absl::InvalidArgumentError("num_classes should be positive, got 0");
    }
    const TensorShape shape({logits.dim_size(0), samples});
    if (shape.num_elements() == 0) {
      return OutputUninitialized(context, 0, shape);
    }
    FfiAttributes attributes;
    // Two numbers for each sample.
    AddStream(generator_.ReserveRandomOutputs(shape.num_elements(), 2), attributes);
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * operand, BufferOf(logits));
    TF_ASSIGN_OR_RETURN(std::vector<OwnedBuffer> drawn,
                        Launch(*context, "onexpu.categorical", {operand},
                               {ResultType{output_type(0), shape}}, attributes.Build()));
    Count(executions_);
    return SetOutput(context, 0, shape, std::move(drawn.front()));
  }

  std::atomic<uint64_t>& executions_;
  tensorflow::GuardedPhiloxRandom generator_;
};

}  // namespace

void RegisterMultinomialKernel() {
  constexpr tensorflow::DataType kFloating[] = {tensorflow::DT_HALF, tensorflow::DT_BFLOAT16,
                                                tensorflow::DT_FLOAT, tensorflow::DT_DOUBLE};
  constexpr tensorflow::DataType kIndices[] = {tensorflow::DT_INT32, tensorflow::DT_INT64};
  Register<MultinomialKernel>(XpuKernel("Multinomial")
                                  .TypeConstraint("T", kFloating)
                                  .TypeConstraint("output_dtype", kIndices)
                                  .HostMemory("num_samples"));
}

}  // namespace onexpu::tf_plugin
