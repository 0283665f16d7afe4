// OnexpuKernel and OnexpuDynamicKernel on XPU, outside of compiled programs: eager calls, and
// graphs that are not clustered.
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tf_plugin/core/placement_counters.h"
#include "tf_plugin/custom_kernel/kernel_attributes.h"
#include "tf_plugin/custom_kernel/runtime_scalars.h"
#include "tf_plugin/custom_kernel/shape_conditions.h"
#include "tf_plugin/kernels/support/ffi_attributes.h"
#include "tf_plugin/kernels/support/launch.h"
#include "tf_plugin/kernels/support/registration.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
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

// The types that handlers have attributes of.
XLA_FFI_DataType FfiTypeOf(DataType type) {
  switch (type) {
    case tensorflow::DT_BOOL:
      return XLA_FFI_DataType_PRED;
    case tensorflow::DT_INT8:
      return XLA_FFI_DataType_S8;
    case tensorflow::DT_INT16:
      return XLA_FFI_DataType_S16;
    case tensorflow::DT_INT32:
      return XLA_FFI_DataType_S32;
    case tensorflow::DT_INT64:
      return XLA_FFI_DataType_S64;
    case tensorflow::DT_UINT8:
      return XLA_FFI_DataType_U8;
    case tensorflow::DT_UINT16:
      return XLA_FFI_DataType_U16;
    case tensorflow::DT_UINT32:
      return XLA_FFI_DataType_U32;
    case tensorflow::DT_UINT64:
      return XLA_FFI_DataType_U64;
    case tensorflow::DT_FLOAT:
      return XLA_FFI_DataType_F32;
    case tensorflow::DT_DOUBLE:
      return XLA_FFI_DataType_F64;
    default:
      return XLA_FFI_DataType_INVALID;
  }
}

absl::Status AddHandlerAttributes(const KernelAttributes& call, FfiAttributes* attributes) {
  for (const HandlerAttribute& attribute : call.handler_attributes) {
    const Tensor& value = attribute.value;
    if (value.dtype() == tensorflow::DT_STRING) {
      attributes->Add(attribute.name, absl::string_view(value.scalar<tensorflow::tstring>()()));
      continue;
    }
    const XLA_FFI_DataType type = FfiTypeOf(value.dtype());
    if (type == XLA_FFI_DataType_INVALID) {
      return absl::UnimplementedError(absl::StrCat(
          "onexpu: attribute '", attribute.name, "' of '", call.handler, "' has the type ",
          tensorflow::DataTypeString(value.dtype()), ", which attributes do not have"));
    }
    if (value.dims() == 0) {
      attributes->AddScalar(attribute.name, type, value.tensor_data());
    } else {
      attributes->AddArray(attribute.name, type, value.NumElements(), value.tensor_data());
    }
  }
  return absl::OkStatus();
}

class OnexpuKernelBase : public OpKernel {
 public:
  explicit OnexpuKernelBase(OpKernelConstruction* construction) : OpKernel(construction) {
    OP_REQUIRES_OK(construction, call_.Read(construction));
    executions_ =
        &PlacementCounter(Route::kSyclKernel, call_.is_handler() ? call_.handler : call_.kernel);
  }

 protected:
  const KernelAttributes& call() const { return call_; }

  absl::Status SetAttributes(absl::Span<const int64_t> global_size, absl::string_view scalars,
                             FfiAttributes* attributes) const {
    if (call_.is_handler()) return AddHandlerAttributes(call_, attributes);
    attributes->Add("kernel", call_.kernel).Add("global_size", global_size);
    attributes->Add("local_size", call_.local_size).Add("in_place", call_.in_place);
    attributes->Add("zeroed", call_.zeroed);
    attributes->AddBytes("scalars", scalars);
    return absl::OkStatus();
  }

  absl::Status Run(OpKernelContext* context, absl::Span<const TensorShape> shapes,
                   const XLA_FFI_Attrs& attributes) const {
    OpInputList inputs;
    TF_RETURN_IF_ERROR(context->input_list("inputs", &inputs));
    std::vector<PJRT_Buffer*> operands;
    std::vector<OwnedBuffer> empty;  // tensors without elements have no buffers
    for (int i = 0; i < inputs.size(); ++i) {
      if (inputs[i].NumElements() == 0) {
        TF_ASSIGN_OR_RETURN(OwnedBuffer operand,
                            ViewOfTensor(*context, inputs[i], inputs[i].shape()));
        operands.push_back(operand.get());
        empty.push_back(std::move(operand));
        continue;
      }
      TF_ASSIGN_OR_RETURN(PJRT_Buffer * operand, BufferOf(inputs[i]));
      operands.push_back(operand);
    }
    std::vector<ResultType> types;
    for (size_t i = 0; i < shapes.size(); ++i) types.push_back({call_.output_types[i], shapes[i]});
    // An input without other owners donates its memory; otherwise the kernel changes a copy.
    std::vector<std::unique_ptr<Tensor>> given_away;
    for (size_t i = 0; i < call_.in_place.size(); ++i) {
      const int input = static_cast<int>(call_.in_place[i]);
      if (input < 0) continue;
      if (input >= inputs.size() || i >= types.size() || inputs[input].shape() != shapes[i] ||
          inputs[input].dtype() != call_.output_types[i]) {
        return absl::InvalidArgumentError(
            absl::StrCat("onexpu: kernel '", call_.label(), "': output ", i,
                         " cannot take over input ", input, ": it must be of its shape and type"));
      }
      std::unique_ptr<Tensor> input_alone = context->forward_input(
          input, static_cast<int>(i), call_.output_types[i], shapes[i], tensorflow::DEVICE_MEMORY,
          context->output_alloc_attr(static_cast<int>(i)));
      if (input_alone == nullptr) continue;
      types[i].alias_operand = input;
      given_away.push_back(std::move(input_alone));
    }
    absl::StatusOr<std::vector<OwnedBuffer>> results =
        Launch(*context, call_.target(), operands, types, attributes);
    if (!results.ok()) {
      if (!call_.is_handler()) return results.status();
      // Other people's messages need not say whose they are.
      return absl::Status(
          results.status().code(),
          absl::StrCat(results.status().message(), " [custom call '", call_.handler, "']"));
    }
    for (size_t i = 0; i < results->size(); ++i) {
      TF_RETURN_IF_ERROR(
          SetOutput(context, static_cast<int>(i), shapes[i], std::move((*results)[i])));
    }
    Count(*executions_);
    return absl::OkStatus();
  }

 private:
  KernelAttributes call_;
  std::atomic<uint64_t>* executions_ = nullptr;
};

class OnexpuKernel final : public OnexpuKernelBase {
 public:
  explicit OnexpuKernel(OpKernelConstruction* construction) : OnexpuKernelBase(construction) {
    std::vector<int64_t> global_size;
    OP_REQUIRES_OK(construction, construction->GetAttr("global_size", &global_size));
    OP_REQUIRES_OK(construction, construction->GetAttr("output_shapes", &shapes_));
    OP_REQUIRES_OK(construction, SetAttributes(global_size, call().scalars, &attributes_));
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
    OP_REQUIRES_OK(construction, runtime_scalars_.Read(construction));
    OP_REQUIRES_OK(construction, conditions_.Read(construction));
  }

  void Compute(OpKernelContext* context) override { OP_REQUIRES_OK(context, RunSized(context)); }

 private:
  absl::Status CheckShapes(OpKernelContext* context) const {
    OpInputList inputs;
    TF_RETURN_IF_ERROR(context->input_list("inputs", &inputs));
    std::vector<TensorShape> shapes;
    for (const Tensor& input : inputs) shapes.push_back(input.shape());
    return conditions_.Check(call().label(), shapes);
  }

  absl::Status RunSized(OpKernelContext* context) const {
    TF_RETURN_IF_ERROR(CheckShapes(context));
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
    TF_ASSIGN_OR_RETURN(const std::string packed,
                        runtime_scalars_.Insert(
                            call().scalars, absl::MakeConstSpan(numbers.data(), numbers.size())));
    TF_RETURN_IF_ERROR(call().CheckRange(absl::MakeConstSpan(sizes.data(), sizes.size()), shapes));
    FfiAttributes attributes;
    TF_RETURN_IF_ERROR(
        SetAttributes(absl::MakeConstSpan(sizes.data(), sizes.size()), packed, &attributes));
    return Run(context, shapes, attributes.Build());
  }

  RuntimeScalars runtime_scalars_;
  ShapeConditions conditions_;
};

class LeadingRows final : public OpKernel {
 public:
  explicit LeadingRows(OpKernelConstruction* construction) : OpKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("kernel_name", &kernel_name_));
  }

  void Compute(OpKernelContext* context) override { OP_REQUIRES_OK(context, Run(context)); }

 private:
  absl::Status Run(OpKernelContext* context) const {
    const Tensor& tensor = context->input(0);
    TF_ASSIGN_OR_RETURN(const int64_t count, CountOf(context->input(1)));
    if (tensor.dims() < 1 || count < 0 || count > tensor.dim_size(0)) {
      return absl::InvalidArgumentError(absl::StrCat("onexpu: kernel '", kernel_name_, "' counted ",
                                                     count, " rows of an output of shape ",
                                                     tensor.shape().DebugString()));
    }
    TensorShape shape = tensor.shape();
    shape.set_dim(0, count);
    if (shape.num_elements() == 0) return OutputUninitialized(context, 0, shape);
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * buffer, BufferOf(tensor));
    TF_ASSIGN_OR_RETURN(OwnedBuffer rows, ViewOf(buffer, shape));
    return SetOutput(context, 0, shape, std::move(rows));
  }

  static absl::StatusOr<int64_t> CountOf(const Tensor& count) {
    if (count.NumElements() == 1) {
      switch (count.dtype()) {
        case tensorflow::DT_INT32:
          return count.flat<int32_t>()(0);
        case tensorflow::DT_INT64:
          return count.flat<int64_t>()(0);
        case tensorflow::DT_UINT32:
          return count.flat<uint32_t>()(0);
        case tensorflow::DT_UINT64:
          return static_cast<int64_t>(count.flat<uint64_t>()(0));
        default:
          break;
      }
    }
    return absl::InvalidArgumentError(
        absl::StrCat("OnexpuLeadingRows: a count is one integer, not ", count.DebugString()));
  }

  std::string kernel_name_;
};

}  // namespace

void RegisterOnexpuKernelOps() {
  Register<LeadingRows>(XpuKernel("OnexpuLeadingRows").HostMemory("count"));
  Register<OnexpuKernel>(XpuKernel("OnexpuKernel"));
  Register<OnexpuDynamicKernel>(XpuKernel("OnexpuDynamicKernel")
                                    .HostMemory("output_shapes")
                                    .HostMemory("global_size")
                                    .HostMemory("scalar_values"));
}

}  // namespace onexpu::tf_plugin
