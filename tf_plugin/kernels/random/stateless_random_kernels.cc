// Stateless random numbers on XPU: the uniform, normal, truncated normal numbers and integers of
// TensorFlow's CPU kernels for the same seeds, and what makes keys and counters of seeds.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/compiler/tf2xla/type_util.h"
#include "tensorflow/core/framework/rng_alg.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/framework/tensor_util.h"
#include "tf_plugin/core/placement_counters.h"
#include "tf_plugin/core/random_arguments.h"
#include "tf_plugin/kernels/random/philox_attributes.h"
#include "tf_plugin/kernels/support/device_program.h"
#include "tf_plugin/kernels/support/ffi_attributes.h"
#include "tf_plugin/kernels/support/launch.h"
#include "tf_plugin/kernels/support/registration.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "tf_plugin/translations/random/threefry.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;
using ::tensorflow::random::PhiloxRandom;

enum class Types { kFloating, kBounded, kIntegers };

// An op and the distribution of "onexpu.random". V2 of each has a key and a counter for the seed.
struct StatelessOp {
  const char* op;
  const char* v2;
  const char* distribution;
  Types types;
};
constexpr StatelessOp kOps[] = {
    {"StatelessRandomUniform", "StatelessRandomUniformV2", "uniform", Types::kFloating},
    {"StatelessRandomNormal", "StatelessRandomNormalV2", "normal", Types::kFloating},
    {"StatelessTruncatedNormal", "StatelessTruncatedNormalV2", "truncated_normal",
     Types::kFloating},
    {"StatelessRandomUniformInt", "StatelessRandomUniformIntV2", "integers", Types::kBounded},
    {"StatelessRandomUniformFullInt", "StatelessRandomUniformFullIntV2", "bits", Types::kIntegers},
};

// Inputs, on the host except for keys and counters: the shape; a seed, or a key, a counter and the
// algorithm's id; the bounds of integers.
class StatelessRandomKernel final : public OpKernel {
 public:
  explicit StatelessRandomKernel(OpKernelConstruction* construction)
      : OpKernel(construction),
        executions_(PlacementCounter(Route::kSyclKernel, type_string())),
        compiled_(PlacementCounter(Route::kOnDemand, type_string())),
        op_(*std::find_if(std::begin(kOps), std::end(kOps),
                          [&](const StatelessOp& entry) {
                            return type_string() == entry.op || type_string() == entry.v2;
                          })),
        has_seed_(type_string() == op_.op) {}

  void Compute(OpKernelContext* context) override { OP_REQUIRES_OK(context, Fill(context)); }

 private:
  absl::Status Fill(OpKernelContext* context) const {
    TensorShape shape;
    TF_RETURN_IF_ERROR(tensorflow::tensor::MakeShape(context->input(0), &shape));
    if (!has_seed_ && IsThreeFry(context->input(3))) return FillWithThreeFry(context, shape);
    FfiAttributes attributes;
    TF_ASSIGN_OR_RETURN(const std::vector<PJRT_Buffer*> stream,
                        StatelessStream(context, has_seed_, attributes));
    // TensorFlow takes any bounds where there is nothing to draw.
    if (shape.num_elements() == 0) {
      return OutputUninitialized(context, 0, shape);
    }
    IntegerRange range{};
    if (op_.types == Types::kBounded) {
      const int bound = has_seed_ ? 2 : 4;
      TF_ASSIGN_OR_RETURN(range, IntegerRangeOf(context->input(bound), context->input(bound + 1)));
    }
    attributes.Add("distribution", op_.distribution).Add("low", range.low).Add("high", range.high);
    TF_ASSIGN_OR_RETURN(std::vector<OwnedBuffer> numbers,
                        Launch(*context, "onexpu.random", stream,
                               {ResultType{output_type(0), shape}}, attributes.Build()));
    Count(executions_);
    return SetOutput(context, 0, shape, std::move(numbers.front()));
  }

  static bool IsThreeFry(const Tensor& algorithm) {
    return algorithm.dims() == 0 && algorithm.scalar<int32_t>()() == tensorflow::RNG_ALG_THREEFRY;
  }

  // What a compiled function gives, too: a program, as TensorFlow has no kernel for these numbers.
  absl::Status FillWithThreeFry(OpKernelContext* context, const TensorShape& shape) const {
    const Tensor& key = context->input(1);
    const Tensor& counter = context->input(2);
    if (key.shape() != TensorShape({1}) || counter.dims() != 1 || counter.dim_size(0) < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("key must have shape [1] and counter at least [1], not ",
                       key.shape().DebugString(), " and ", counter.shape().DebugString()));
    }
    if (shape.num_elements() == 0) return OutputUninitialized(context, 0, shape);
    const bool is_bounded = op_.types == Types::kBounded;
    int64_t bounds[2] = {0, 0};
    if (is_bounded) {
      TF_ASSIGN_OR_RETURN(const IntegerRange range,
                          IntegerRangeOf(context->input(4), context->input(5)));
      bounds[0] = range.low;
      bounds[1] = range.high;
    }
    xla::PrimitiveType type;
    TF_RETURN_IF_ERROR(tensorflow::DataTypeToPrimitiveType(output_type(0), &type));
    const auto build = [&]() -> absl::StatusOr<xla::XlaComputation> {
      xla::XlaBuilder builder("threefry");
      const auto words = [&](int number, int64_t size) {
        return xla::Parameter(&builder, number, xla::ShapeUtil::MakeShape(xla::U64, {size}),
                              absl::StrCat("words_", number));
      };
      const xla::XlaOp first = words(0, 1), second = words(1, counter.dim_size(0));
      const xla::XlaOp bounds =
          xla::Parameter(&builder, 2, xla::ShapeUtil::MakeShape(xla::S64, {2}), "bounds");
      const auto bound = [&](int64_t place) {
        return xla::ConvertElementType(
            xla::Reshape(xla::SliceInDim(bounds, place, place + 1, 1, 0), {}), type);
      };
      const auto sizes = shape.dim_sizes();
      const xla::RngOutput numbers = ThreeFryNumbers(
          op_.distribution, first, second, is_bounded ? bound(0) : xla::XlaOp(),
          is_bounded ? bound(1) : xla::XlaOp(), xla::ShapeUtil::MakeShape(type, sizes));
      return builder.Build(numbers.value);
    };
    const std::string name =
        absl::StrCat("threefry ", op_.distribution, " ", xla::PrimitiveType_Name(type), " ",
                     counter.dim_size(0), " ", shape.DebugString());
    std::vector<PJRT_Buffer*> operands;
    TF_ASSIGN_OR_RETURN(operands.emplace_back(), BufferOf(key));
    TF_ASSIGN_OR_RETURN(operands.emplace_back(), BufferOf(counter));
    TF_ASSIGN_OR_RETURN(
        const OwnedBuffer device_bounds,
        BufferFromHost(*context, tensorflow::DT_INT64, TensorShape({2}), bounds, {}));
    operands.push_back(device_bounds.get());
    TF_ASSIGN_OR_RETURN(std::vector<OwnedBuffer> numbers,
                        RunDeviceProgram(*context, name, build, operands));
    Count(compiled_);
    return SetOutput(context, 0, shape, std::move(numbers.front()));
  }

  std::atomic<uint64_t>& executions_;
  std::atomic<uint64_t>& compiled_;
  const StatelessOp& op_;
  const bool has_seed_;
};

// Key and counter of a seed with the id of Philox, or that id alone; all of them on the host.
// StatelessRandomGetKeyCounter is a compiled program, so the host does not wait for its seed.
class SeedKernel final : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override { OP_REQUIRES_OK(context, Run(context)); }

 private:
  absl::Status Run(OpKernelContext* context) const {
    if (num_inputs() == 1) {
      PhiloxRandom stream;
      TF_RETURN_IF_ERROR(StreamOfSeed(context->input(0), stream));
      const auto joined = [](uint32_t low, uint32_t high) {
        return static_cast<uint64_t>(high) << 32 | low;
      };
      Tensor* key = nullptr;
      TF_RETURN_IF_ERROR(context->allocate_output(0, TensorShape({1}), &key));
      key->vec<uint64_t>()(0) = joined(stream.key()[0], stream.key()[1]);
      Tensor* counter = nullptr;
      TF_RETURN_IF_ERROR(context->allocate_output(1, TensorShape({2}), &counter));
      counter->vec<uint64_t>()(0) = joined(stream.counter()[0], stream.counter()[1]);
      counter->vec<uint64_t>()(1) = joined(stream.counter()[2], stream.counter()[3]);
    }
    Tensor* algorithm = nullptr;
    TF_RETURN_IF_ERROR(context->allocate_output(num_outputs() - 1, TensorShape({}), &algorithm));
    algorithm->scalar<int32_t>()() = tensorflow::RNG_ALG_PHILOX;
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterStatelessRandomKernels() {
  constexpr DataType kFloating[] = {tensorflow::DT_HALF, tensorflow::DT_BFLOAT16,
                                    tensorflow::DT_FLOAT, tensorflow::DT_DOUBLE};
  constexpr DataType kIntegers[] = {tensorflow::DT_INT32, tensorflow::DT_INT64,
                                    tensorflow::DT_UINT32, tensorflow::DT_UINT64};
  constexpr DataType kSigned[] = {tensorflow::DT_INT32, tensorflow::DT_INT64};
  for (const StatelessOp& entry : kOps) {
    XpuKernel with_seed(entry.op), with_key(entry.v2);
    with_seed.HostMemory("shape").HostMemory("seed");
    with_key.HostMemory("shape").HostMemory("alg");
    for (XpuKernel* const kernel : {&with_seed, &with_key}) {
      if (entry.types == Types::kBounded) kernel->HostMemory("minval").HostMemory("maxval");
      if (entry.types == Types::kFloating) {
        kernel->TypeConstraint("dtype", kFloating);
      } else if (entry.types == Types::kBounded && kernel == &with_seed) {
        kernel->TypeConstraint("dtype", kSigned);
      } else {
        kernel->TypeConstraint("dtype", kIntegers);
      }
      Register<StatelessRandomKernel>(*kernel);
    }
  }
  Register<SeedKernel>(XpuKernel("StatelessRandomGetKeyCounterAlg")
                           .HostMemory("seed")
                           .HostMemory("key")
                           .HostMemory("counter")
                           .HostMemory("alg"));
  Register<SeedKernel>(XpuKernel("StatelessRandomGetAlg").HostMemory("alg"));
}

}  // namespace onexpu::tf_plugin
