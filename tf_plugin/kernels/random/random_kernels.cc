// Random numbers with state on XPU: RandomUniform, RandomStandardNormal, TruncatedNormal and
// RandomUniformInt give the numbers that TensorFlow's CPU kernels give for the same seeds.
//
// The state stays on the host, as on TensorFlow's other devices: every run takes its part of the
// stream before it launches.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/framework/tensor_util.h"
#include "tensorflow/core/util/guarded_philox_random.h"
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

using ::tensorflow::DataType;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

const char* DistributionOf(absl::string_view op) {
  if (op == "RandomUniform") return "uniform";
  if (op == "RandomStandardNormal") return "normal";
  return op == "TruncatedNormal" ? "truncated_normal" : "integers";
}

absl::StatusOr<int64_t> Scalar(const Tensor& bound, absl::string_view name) {
  if (bound.dims() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " must be 0-D, got shape ", bound.shape().DebugString()));
  }
  return bound.dtype() == tensorflow::DT_INT32 ? bound.scalar<int32_t>()()
                                               : bound.scalar<int64_t>()();
}

// Inputs, on the host: the shape, and the bounds of integers.
class RandomKernel final : public CountedKernel {
 public:
  explicit RandomKernel(OpKernelConstruction* construction) : CountedKernel(construction) {
    OP_REQUIRES_OK(construction, generator_.Init(construction));
  }

 private:
  absl::Status Run(OpKernelContext* context) const override {
    TensorShape shape;
    TF_RETURN_IF_ERROR(tensorflow::tensor::MakeShape(context->input(0), &shape));
    int64_t low = 0, high = 0;
    if (context->num_inputs() == 3) {
      TF_ASSIGN_OR_RETURN(low, Scalar(context->input(1), "minval"));
      TF_ASSIGN_OR_RETURN(high, Scalar(context->input(2), "maxval"));
      // TensorFlow takes any bounds where there is nothing to draw.
      if (low >= high && shape.num_elements() > 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("Need minval < maxval, got ", low, " >= ", high));
      }
    }
    const DataType type = output_type(0);
    if (shape.num_elements() == 0) {
      return OutputUninitialized(context, 0, shape);
    }
    // TensorFlow's kernels reserve 256 words for each element, whatever they take.
    const auto stream = generator_.ReserveRandomOutputs(shape.num_elements(), 256);
    FfiAttributes attributes;
    attributes.Add("distribution", DistributionOf(type_string())).Add("low", low).Add("high", high);
    AddStream(stream, attributes);
    TF_ASSIGN_OR_RETURN(
        std::vector<OwnedBuffer> results,
        Launch(*context, "onexpu.random", {}, {ResultType{type, shape}}, attributes.Build()));
    return SetOutput(context, 0, shape, std::move(results.front()));
  }

  mutable tensorflow::GuardedPhiloxRandom generator_;  // Thread-safe.
};

}  // namespace

void RegisterRandomKernels() {
  constexpr DataType kFloating[] = {tensorflow::DT_HALF, tensorflow::DT_BFLOAT16,
                                    tensorflow::DT_FLOAT, tensorflow::DT_DOUBLE};
  for (const char* const op : {"RandomUniform", "RandomStandardNormal", "TruncatedNormal"}) {
    Register<RandomKernel>(XpuKernel(op).TypeConstraint("dtype", kFloating).HostMemory("shape"));
  }
  // Of 32 bits, too: TensorFlow has both on its accelerators.
  for (const DataType type : {tensorflow::DT_INT32, tensorflow::DT_INT64}) {
    Register<RandomKernel>(XpuKernel("RandomUniformInt")
                               .TypeConstraint("Tout", type)
                               .HostMemory("shape")
                               .HostMemory("minval")
                               .HostMemory("maxval"));
  }
}

}  // namespace onexpu::tf_plugin
