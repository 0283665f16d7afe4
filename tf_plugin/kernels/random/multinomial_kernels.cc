// Multinomial and StatelessMultinomial on XPU, which tf.random.categorical and
// stateless_categorical call. The samples are those that one thread of TensorFlow's CPU kernel
// draws with the same seeds; several threads share out the rows of a large matrix there, and draw
// others.
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/lib/random/philox_random.h"
#include "tensorflow/core/util/guarded_philox_random.h"
#include "tf_plugin/core/random_arguments.h"
#include "tf_plugin/kernels/random/philox_attributes.h"
#include "tf_plugin/kernels/support/counted_kernel.h"
#include "tf_plugin/kernels/support/ffi_attributes.h"
#include "tf_plugin/kernels/support/launch.h"
#include "tf_plugin/kernels/support/registration.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;
using ::tensorflow::random::PhiloxRandom;

// Inputs: logits, and on the host how many samples and the stateless op's seed. The other's state
// of the random numbers stays there, too.
class MultinomialKernel final : public CountedKernel {
 public:
  explicit MultinomialKernel(OpKernelConstruction* construction)
      : CountedKernel(construction), has_seed_(num_inputs() == 3) {
    if (!has_seed_) OP_REQUIRES_OK(construction, generator_.Init(construction));
  }

 private:
  absl::Status Run(OpKernelContext* context) const override {
    const Tensor& logits = context->input(0);
    PhiloxRandom stream;
    if (has_seed_) TF_RETURN_IF_ERROR(StreamOfSeed(context->input(2), stream));
    const Tensor& count = context->input(1);
    if (count.dims() != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("num_samples should be a scalar, got shape ", count.shape().DebugString()));
    }
    TF_ASSIGN_OR_RETURN(const TensorShape shape,
                        CategoricalShape(logits.shape(), count.scalar<int32_t>()()));
    if (shape.num_elements() == 0) {
      return OutputUninitialized(context, 0, shape);
    }
    if (!has_seed_) stream = Reserve(shape);
    FfiAttributes attributes;
    AddStream(stream, attributes);
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * operand, BufferOf(logits));
    TF_ASSIGN_OR_RETURN(std::vector<OwnedBuffer> drawn,
                        Launch(*context, "onexpu.categorical", {operand},
                               {ResultType{output_type(0), shape}}, attributes.Build()));
    return SetOutput(context, 0, shape, std::move(drawn.front()));
  }

  // As much as TensorFlow's CPU kernel takes, so that the next op's numbers are the CPU's, too: two
  // words a sample, of rows of whole blocks, 256 times.
  PhiloxRandom Reserve(const TensorShape& shape) const {
    constexpr int64_t kBlock = 4, kWords = 2;
    const int64_t blocks = (shape.dim_size(1) + kBlock - 1) / kBlock;
    return generator_.ReserveRandomOutputs(shape.dim_size(0) * blocks * kBlock * kWords, 256);
  }

  const bool has_seed_;
  mutable tensorflow::GuardedPhiloxRandom generator_;  // Thread-safe.
};

}  // namespace

void RegisterMultinomialKernels() {
  constexpr tensorflow::DataType kFloating[] = {tensorflow::DT_HALF, tensorflow::DT_BFLOAT16,
                                                tensorflow::DT_FLOAT, tensorflow::DT_DOUBLE};
  constexpr tensorflow::DataType kIndices[] = {tensorflow::DT_INT32, tensorflow::DT_INT64};
  Register<MultinomialKernel>(XpuKernel("Multinomial")
                                  .TypeConstraint("T", kFloating)
                                  .TypeConstraint("output_dtype", kIndices)
                                  .HostMemory("num_samples"));
  Register<MultinomialKernel>(XpuKernel("StatelessMultinomial")
                                  .TypeConstraint("T", kFloating)
                                  .TypeConstraint("output_dtype", kIndices)
                                  .HostMemory("num_samples")
                                  .HostMemory("seed"));
}

}  // namespace onexpu::tf_plugin
