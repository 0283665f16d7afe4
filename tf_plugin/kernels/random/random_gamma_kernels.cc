// StatelessRandomGammaV2 and V3 on XPU: the numbers of TensorFlow's CPU kernels for the same seeds.
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/framework/tensor_util.h"
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

// Inputs: the shape (on the host); a seed (on the host), or a key, a counter and the number of the
// algorithm (on the host); alphas.
class RandomGammaKernel final : public CountedKernel {
 public:
  explicit RandomGammaKernel(OpKernelConstruction* construction)
      : CountedKernel(construction), has_seed_(num_inputs() == 3) {}

 private:
  absl::Status Run(OpKernelContext* context) const override {
    TensorShape shape;
    TF_RETURN_IF_ERROR(tensorflow::tensor::MakeShape(context->input(0), &shape));
    FfiAttributes attributes;
    TF_ASSIGN_OR_RETURN(const std::vector<PJRT_Buffer*> stream,
                        StatelessStream(context, has_seed_, attributes));
    const Tensor& alphas = context->input(has_seed_ ? 2 : 4);
    if (shape.num_elements() == 0) {
      return OutputUninitialized(context, 0, shape);
    }
    if (!tensorflow::TensorShapeUtils::EndsWith(shape, alphas.shape())) {
      return absl::InvalidArgumentError(
          absl::StrCat("Shape passed in must end with broadcasted shape: ", shape.DebugString(),
                       " does not end with ", alphas.shape().DebugString()));
    }
    std::vector<PJRT_Buffer*> operands;
    TF_ASSIGN_OR_RETURN(operands.emplace_back(), BufferOf(alphas));
    operands.insert(operands.end(), stream.begin(), stream.end());
    TF_ASSIGN_OR_RETURN(std::vector<OwnedBuffer> numbers,
                        Launch(*context, "onexpu.random_gamma", operands,
                               {ResultType{output_type(0), shape}}, attributes.Build()));
    return SetOutput(context, 0, shape, std::move(numbers.front()));
  }

  const bool has_seed_;
};

}  // namespace

void RegisterRandomGammaKernels() {
  constexpr tensorflow::DataType kFloating[] = {tensorflow::DT_HALF, tensorflow::DT_FLOAT,
                                                tensorflow::DT_DOUBLE};
  Register<RandomGammaKernel>(XpuKernel("StatelessRandomGammaV2")
                                  .TypeConstraint("dtype", kFloating)
                                  .HostMemory("shape")
                                  .HostMemory("seed"));
  Register<RandomGammaKernel>(XpuKernel("StatelessRandomGammaV3")
                                  .TypeConstraint("dtype", kFloating)
                                  .HostMemory("shape")
                                  .HostMemory("alg"));
}

}  // namespace onexpu::tf_plugin
