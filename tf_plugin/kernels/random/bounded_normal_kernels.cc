// ParameterizedTruncatedNormal and StatelessParameterizedTruncatedNormal on XPU: normal numbers
// between bounds, right in the far tails, too, where XLA's translation, by the inverse of the
// distribution, is not.
//
// TensorFlow's CPU kernels' numbers depend on how many threads made them; these depend on the seed
// alone.
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/framework/tensor_util.h"
#include "tensorflow/core/util/bcast.h"
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

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

constexpr std::array<const char*, 4> kParameters = {"means", "stddevs", "minvals", "maxvals"};
// Blocks of the stream that are each element's (random.cpp).
constexpr int64_t kBlocks = 1000;

// Where each element of a result finds its parameters.
struct Places {
  std::vector<int64_t> dimensions;
  std::array<std::vector<int64_t>, 4> strides;

  void Add(int64_t dimension, const std::array<int64_t, 4>& of_parameters) {
    dimensions.push_back(dimension);
    for (size_t i = 0; i < strides.size(); ++i) strides[i].push_back(of_parameters[i]);
  }

  void AddTo(FfiAttributes& attributes) const {
    std::vector<int64_t> all;
    for (const auto& parameter : strides) all.insert(all.end(), parameter.begin(), parameter.end());
    attributes.Add("dimensions", dimensions).Add("strides", all);
  }
};

absl::StatusOr<TensorShape> ShapeOf(const Tensor& shape) {
  if (shape.dims() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("Input shape should be a vector, got shape: ", shape.shape().DebugString()));
  }
  TensorShape result;
  TF_RETURN_IF_ERROR(tensorflow::tensor::MakeShape(shape, &result));
  return result;
}

class BoundedNormalKernel : public CountedKernel {
 public:
  BoundedNormalKernel(OpKernelConstruction* construction, int first_parameter)
      : CountedKernel(construction), first_parameter_(first_parameter) {}

 protected:
  const Tensor& Parameter(OpKernelContext* context, int i) const {
    return context->input(first_parameter_ + i);
  }

  absl::Status Fill(OpKernelContext* context, const TensorShape& shape, const Places& places,
                    FfiAttributes& stream) const {
    if (shape.num_elements() == 0) return OutputUninitialized(context, 0, shape);
    places.AddTo(stream);
    std::vector<PJRT_Buffer*> operands;
    for (size_t i = 0; i < kParameters.size(); ++i) {
      TF_ASSIGN_OR_RETURN(operands.emplace_back(), BufferOf(Parameter(context, i)));
    }
    TF_ASSIGN_OR_RETURN(std::vector<OwnedBuffer> numbers,
                        Launch(*context, "onexpu.random_between", operands,
                               {ResultType{output_type(0), shape}}, stream.Build()));
    return SetOutput(context, 0, shape, std::move(numbers.front()));
  }

 private:
  const int first_parameter_;
};

// Inputs: the shape (on the host), and parameters for each of its first dimension, or for all.
class ParameterizedKernel final : public BoundedNormalKernel {
 public:
  explicit ParameterizedKernel(OpKernelConstruction* construction)
      : BoundedNormalKernel(construction, /*first_parameter=*/1) {
    OP_REQUIRES_OK(construction, generator_.Init(construction));
  }

 private:
  absl::Status Run(OpKernelContext* context) const override {
    TF_ASSIGN_OR_RETURN(const TensorShape shape, ShapeOf(context->input(0)));
    if (shape.dims() == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("Shape tensor must not be empty, got ", context->input(0).DebugString()));
    }
    const int64_t batches = shape.dim_size(0);
    std::array<int64_t, 4> strides;
    for (size_t i = 0; i < kParameters.size(); ++i) {
      const TensorShape& parameter = Parameter(context, i).shape();
      if (parameter.dims() > 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("Input ", kParameters[i],
                         " should be a scalar or vector, got shape: ", parameter.DebugString()));
      }
      if (parameter.num_elements() != 1 && parameter.num_elements() != batches) {
        return absl::InvalidArgumentError(absl::StrCat(
            "Input ", kParameters[i],
            " should have length 1 or shape[0], got shape: ", parameter.DebugString()));
      }
      strides[i] = parameter.num_elements() == 1 ? 0 : 1;
    }
    Places places;
    places.Add(batches, strides);
    if (batches > 0) places.Add(shape.num_elements() / batches, {0, 0, 0, 0});
    FfiAttributes attributes;
    AddStream(generator_.ReserveSamples128(shape.num_elements() * kBlocks), attributes);
    return Fill(context, shape, places, attributes);
  }

  mutable tensorflow::GuardedPhiloxRandom generator_;  // Thread-safe.
};

// Inputs: the shape and a seed (on the host), and parameters whose broadcast shape is its end.
class StatelessParameterizedKernel final : public BoundedNormalKernel {
 public:
  explicit StatelessParameterizedKernel(OpKernelConstruction* construction)
      : BoundedNormalKernel(construction, /*first_parameter=*/2) {}

 private:
  absl::Status Run(OpKernelContext* context) const override {
    tensorflow::random::PhiloxRandom stream;
    TF_RETURN_IF_ERROR(StreamOfSeed(context->input(1), stream));
    TF_ASSIGN_OR_RETURN(const TensorShape shape, ShapeOf(context->input(0)));
    TF_ASSIGN_OR_RETURN(const Places places, PlacesOf(context, shape));
    FfiAttributes attributes;
    AddStream(stream, attributes);
    return Fill(context, shape, places, attributes);
  }

  absl::StatusOr<Places> PlacesOf(OpKernelContext* context, const TensorShape& shape) const {
    const auto dimensions = [&](int i) { return Parameter(context, i).shape().dim_sizes(); };
    const tensorflow::BCastList<4> broadcast(
        {dimensions(0), dimensions(1), dimensions(2), dimensions(3)},
        /*fewer_dims_optimization=*/false);
    if (!broadcast.IsValid()) {
      return absl::InvalidArgumentError(
          absl::StrCat("means, stddevs, minvals, maxvals must have compatible batch dimensions: ",
                       Parameter(context, 0).shape().DebugString(), " vs. ",
                       Parameter(context, 1).shape().DebugString(), " vs. ",
                       Parameter(context, 2).shape().DebugString(), " vs. ",
                       Parameter(context, 3).shape().DebugString()));
    }
    const TensorShape batches = tensorflow::BCast::ToShape(broadcast.output_shape());
    if (!tensorflow::TensorShapeUtils::EndsWith(shape, batches)) {
      return absl::InvalidArgumentError("Shape passed in must end with broadcasted shape.");
    }
    Places places;
    places.Add(batches.num_elements() == 0 ? 0 : shape.num_elements() / batches.num_elements(),
               {0, 0, 0, 0});
    for (int i = 0; i < batches.dims(); ++i) {
      std::array<int64_t, 4> strides;
      for (size_t j = 0; j < kParameters.size(); ++j) {
        strides[j] = Stride(Parameter(context, j).shape(), batches.dims() - i);
      }
      places.Add(batches.dim_size(i), strides);
    }
    return places;
  }

  // Of the dimension that is `from_end` from the end.
  static int64_t Stride(const TensorShape& parameter, int from_end) {
    const int dimension = parameter.dims() - from_end;
    if (dimension < 0 || parameter.dim_size(dimension) == 1) return 0;
    int64_t stride = 1;
    for (int i = dimension + 1; i < parameter.dims(); ++i) stride *= parameter.dim_size(i);
    return stride;
  }
};

}  // namespace

void RegisterBoundedNormalKernels() {
  constexpr tensorflow::DataType kFloating[] = {tensorflow::DT_HALF, tensorflow::DT_FLOAT,
                                                tensorflow::DT_DOUBLE};
  Register<ParameterizedKernel>(XpuKernel("ParameterizedTruncatedNormal")
                                    .TypeConstraint("dtype", kFloating)
                                    .HostMemory("shape"));
  Register<StatelessParameterizedKernel>(XpuKernel("StatelessParameterizedTruncatedNormal")
                                             .TypeConstraint("dtype", kFloating)
                                             .HostMemory("shape")
                                             .HostMemory("seed"));
}

}  // namespace onexpu::tf_plugin
