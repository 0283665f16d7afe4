// OnexpuKernel and OnexpuDynamicKernel on XPU, outside of compiled programs: eager calls, and
// graphs that are not clustered.
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tf_plugin/kernels/ffi_attributes.h"
#include "tf_plugin/kernels/launch.h"
#include "tf_plugin/kernels/registration.h"
#include "tf_plugin/kernels/tensor_buffers.h"
#include "tf_plugin/late_scalars.h"
#include "tf_plugin/placement_counters.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::OpInputList;
using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

constexpr char kTarget[] = "onexpu.kernel";

class OnexpuKernelBase : public OpKernel {
 public:
  explicit OnexpuKernelBase(OpKernelConstruction* construction) : OpKernel(construction) {
    std::string kernel, scalars;
    std::vector<int64_t> local_size;
    OP_REQUIRES_OK(construction, construction->GetAttr("kernel", &kernel));
    OP_REQUIRES_OK(construction, construction->GetAttr("scalars", &scalars));
    OP_REQUIRES_OK(construction, construction->GetAttr("local_size", &local_size));
    OP_REQUIRES_OK(construction, construction->GetAttr("in_place", &in_place_));
    OP_REQUIRES_OK(construction, construction->GetAttr("output_types", &output_types_));
    executions_ = &PlacementCounter(Route::kSyclKernel, kernel);
    kernel_ = std::move(kernel);
    scalars_ = std::move(scalars);
    local_size_ = std::move(local_size);
  }

 protected:
  const std::string& scalars() const { return scalars_; }

  void SetAttributes(absl::Span<const int64_t> global_size, absl::string_view scalars,
                     FfiAttributes* attributes) const {
    attributes->Add("kernel", kernel_).Add("global_size", global_size);
    attributes->Add("local_size", local_size_).Add("in_place", in_place_);
    attributes->AddBytes("scalars", scalars);
  }

  absl::Status Run(OpKernelContext* context, absl::Span<const TensorShape> shapes,
                   const XLA_FFI_Attrs& attributes) const {
    OpInputList inputs;
    TF_RETURN_IF_ERROR(context->input_list("inputs", &inputs));
    std::vector<PJRT_Buffer*> operands;
    for (int i = 0; i < inputs.size(); ++i) {
      TF_ASSIGN_OR_RETURN(PJRT_Buffer * operand, BufferOf(inputs[i]));
      operands.push_back(operand);
    }
    std::vector<ResultType> types;
    for (size_t i = 0; i < shapes.size(); ++i) types.push_back({output_types_[i], shapes[i]});
    // An input that nobody else holds gives its memory away; of others the kernel changes a copy.
    std::vector<std::unique_ptr<Tensor>> given_away;
    for (size_t i = 0; i < in_place_.size(); ++i) {
      const int input = static_cast<int>(in_place_[i]);
      if (input < 0) continue;
      if (input >= inputs.size() || i >= types.size() || inputs[input].shape() != shapes[i] ||
          inputs[input].dtype() != output_types_[i]) {
        return absl::InvalidArgumentError(absl::StrCat("onexpu: kernel '", kernel_, "': output ", i,
                                                       " cannot take over input ", input,
                                                       ": it must be of its shape and type"));
      }
      std::unique_ptr<Tensor> input_alone = context->forward_input(
          input, static_cast<int>(i), output_types_[i], shapes[i], tensorflow::DEVICE_MEMORY,
          context->output_alloc_attr(static_cast<int>(i)));
      if (input_alone == nullptr) continue;
      types[i].alias_operand = input;
      given_away.push_back(std::move(input_alone));
    }
    TF_ASSIGN_OR_RETURN(std::vector<OwnedBuffer> results,
                        Launch(*context, kTarget, operands, types, attributes));
    for (size_t i = 0; i < results.size(); ++i) {
      TF_RETURN_IF_ERROR(SetOutput(context, static_cast<int>(i), shapes[i], std::move(results[i])));
    }
    Count(*executions_);
    return absl::OkStatus();
  }

 private:
  std::string kernel_;
  std::string scalars_;
  std::vector<int64_t> local_size_;
  std::vector<int64_t> in_place_;
  std::vector<DataType> output_types_;
  std::atomic<uint64_t>* executions_ = nullptr;
};

class OnexpuKernel final : public OnexpuKernelBase {
 public:
  explicit OnexpuKernel(OpKernelConstruction* construction) : OnexpuKernelBase(construction) {
    std::vector<int64_t> global_size;
    OP_REQUIRES_OK(construction, construction->GetAttr("global_size", &global_size));
    OP_REQUIRES_OK(construction, construction->GetAttr("output_shapes", &shapes_));
    SetAttributes(global_size, scalars(), &attributes_);
    attributes_.Build();
  }

  void Compute(OpKernelContext* context) override {
    OP_REQUIRES_OK(context, Run(context, shapes_, attributes_.attrs()));
  }

 private:
  std::vector<TensorShape> shapes_;
  FfiAttributes attributes_;
};

class OnexpuDynamicKernel final : public OnexpuKernelBase {
 public:
  explicit OnexpuDynamicKernel(OpKernelConstruction* construction)
      : OnexpuKernelBase(construction) {
    OP_REQUIRES_OK(construction, late_scalars_.Read(construction));
  }

  void Compute(OpKernelContext* context) override { OP_REQUIRES_OK(context, RunSized(context)); }

 private:
  absl::Status RunSized(OpKernelContext* context) const {
    OpInputList shape_tensors;
    TF_RETURN_IF_ERROR(context->input_list("output_shapes", &shape_tensors));
    std::vector<TensorShape> shapes(shape_tensors.size());
    for (int i = 0; i < shape_tensors.size(); ++i) {
      const auto dimensions = shape_tensors[i].flat<int64_t>();
      TF_RETURN_IF_ERROR(TensorShape::BuildTensorShape(
          absl::MakeConstSpan(dimensions.data(), dimensions.size()), &shapes[i]));
    }
    const Tensor* global_size = nullptr;
    TF_RETURN_IF_ERROR(context->input("global_size", &global_size));
    const auto sizes = global_size->flat<int64_t>();
    const Tensor* values = nullptr;
    TF_RETURN_IF_ERROR(context->input("scalar_values", &values));
    const auto numbers = values->flat<int64_t>();
    TF_ASSIGN_OR_RETURN(
        const std::string packed,
        late_scalars_.Insert(scalars(), absl::MakeConstSpan(numbers.data(), numbers.size())));
    FfiAttributes attributes;
    SetAttributes(absl::MakeConstSpan(sizes.data(), sizes.size()), packed, &attributes);
    return Run(context, shapes, attributes.Build());
  }

  LateScalars late_scalars_;
};

}  // namespace

void RegisterOnexpuKernelOps() {
  Register<OnexpuKernel>(XpuKernel("OnexpuKernel"));
  Register<OnexpuDynamicKernel>(XpuKernel("OnexpuDynamicKernel")
                                    .HostMemory("output_shapes")
                                    .HostMemory("global_size")
                                    .HostMemory("scalar_values"));
}

}  // namespace onexpu::tf_plugin
