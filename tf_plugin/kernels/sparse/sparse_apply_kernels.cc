// ResourceSparseApply* on XPU: optimisers' updates of the rows that indices pick, in the variables'
// memory. A program would be compiled anew for every number of rows.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "tensorflow/core/framework/resource_mgr.h"
#include "tensorflow/core/framework/resource_var.h"
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
using ::tensorflow::Var;

// An op: the rule of "onexpu.sparse_apply", its variables and its scalars by the names of the op's
// inputs, and the boolean attribute that the rule reads. Null ends a list.
struct SparseApplyOp {
  const char* op;
  const char* rule;
  std::array<const char*, 4> variables;
  std::array<const char*, 6> scalars;
  const char* flag;
};
constexpr SparseApplyOp kOps[] = {
    {"ResourceSparseApplyAdagrad", "adagrad", {"var", "accum"}, {"lr"}, "update_slots"},
    {"ResourceSparseApplyAdagradV2",
     "adagrad_v2",
     {"var", "accum"},
     {"lr", "epsilon"},
     "update_slots"},
    {"ResourceSparseApplyProximalAdagrad",
     "proximal_adagrad",
     {"var", "accum"},
     {"lr", "l1", "l2"},
     nullptr},
    {"ResourceSparseApplyAdadelta",
     "adadelta",
     {"var", "accum", "accum_update"},
     {"lr", "rho", "epsilon"},
     nullptr},
    {"ResourceSparseApplyFtrl",
     "ftrl",
     {"var", "accum", "linear"},
     {"lr", "l1", "l2", "lr_power"},
     "multiply_linear_by_lr"},
    {"ResourceSparseApplyFtrlV2",
     "ftrl_v2",
     {"var", "accum", "linear"},
     {"lr", "l1", "l2", "l2_shrinkage", "lr_power"},
     "multiply_linear_by_lr"},
    {"ResourceSparseApplyKerasMomentum",
     "keras_momentum",
     {"var", "accum"},
     {"lr", "momentum"},
     "use_nesterov"},
};

class SparseApplyKernel final : public CountedKernel {
 public:
  explicit SparseApplyKernel(OpKernelConstruction* construction)
      : CountedKernel(construction),
        op_(*std::find_if(std::begin(kOps), std::end(kOps),
                          [&](const SparseApplyOp& entry) { return type_string() == entry.op; })) {
    bool flag = false;
    if (op_.flag != nullptr) OP_REQUIRES_OK(construction, construction->GetAttr(op_.flag, &flag));
    attributes_.Add("rule", op_.rule).Add("flag", int64_t{flag}).Build();
  }

 private:
  absl::Status Run(OpKernelContext* context) const override {
    TF_ASSIGN_OR_RETURN(const std::vector<tensorflow::core::RefCountPtr<Var>> variables,
                        Variables(context));
    std::vector<Var*> by_address;
    for (const auto& variable : variables) by_address.push_back(variable.get());
    std::sort(by_address.begin(), by_address.end());
    by_address.erase(std::unique(by_address.begin(), by_address.end()), by_address.end());
    if (by_address.size() != variables.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(type_string(), ": a variable cannot be its own slot"));
    }
    std::vector<tensorflow::mutex_lock> locks;
    locks.reserve(by_address.size());
    for (Var* const variable : by_address) locks.emplace_back(*variable->mu());
    return Update(context, variables);
  }

  absl::StatusOr<std::vector<tensorflow::core::RefCountPtr<Var>>> Variables(
      OpKernelContext* context) const {
    std::vector<tensorflow::core::RefCountPtr<Var>> variables;
    for (size_t i = 0; op_.variables[i] != nullptr; ++i) {
      const Tensor* handle = nullptr;
      TF_RETURN_IF_ERROR(context->input(op_.variables[i], &handle));
      TF_RETURN_IF_ERROR(tensorflow::LookupResource(
          context, handle->scalar<tensorflow::ResourceHandle>()(), &variables.emplace_back()));
    }
    return variables;
  }

  absl::StatusOr<const Tensor*> Input(OpKernelContext* context, const char* name) const {
    const Tensor* tensor = nullptr;
    TF_RETURN_IF_ERROR(context->input(name, &tensor));
    return tensor;
  }

  absl::Status CheckShapes(OpKernelContext* context,
                           absl::Span<const tensorflow::core::RefCountPtr<Var>> variables) const {
    for (size_t i = 0; i < variables.size(); ++i) {
      if (!variables[i]->is_initialized || !variables[i]->tensor()->IsInitialized()) {
        return absl::FailedPreconditionError(absl::StrCat(
            "Attempting to use uninitialized variables: ", op_.variables[i], " of ", name()));
      }
    }
    const Tensor& variable = *variables[0]->tensor();
    if (variable.dims() < 1)
      return absl::InvalidArgumentError("var must be at least 1 dimensional");
    for (size_t i = 0; i < variables.size(); ++i) {
      const Tensor& slot = *variables[i]->tensor();
      if (!slot.IsSameSize(variable) || slot.dtype() != variable.dtype()) {
        return absl::InvalidArgumentError(
            absl::StrCat("var and ", op_.variables[i], " do not have the same shape: ",
                         variable.shape().DebugString(), " ", slot.shape().DebugString()));
      }
    }
    for (size_t i = 0; op_.scalars[i] != nullptr; ++i) {
      TF_ASSIGN_OR_RETURN(const Tensor* scalar, Input(context, op_.scalars[i]));
      if (scalar->dims() != 0) {
        return absl::InvalidArgumentError(
            absl::StrCat(op_.scalars[i], " is not a scalar: ", scalar->shape().DebugString()));
      }
    }
    TF_ASSIGN_OR_RETURN(const Tensor* gradients, Input(context, "grad"));
    TF_ASSIGN_OR_RETURN(const Tensor* indices, Input(context, "indices"));
    if (indices->dims() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("indices must be one-dimensional, got ", indices->shape().DebugString()));
    }
    TensorShape expected = variable.shape();
    TF_RETURN_IF_ERROR(expected.SetDimWithStatus(0, indices->NumElements()));
    if (gradients->shape() != expected) {
      return absl::InvalidArgumentError(
          absl::StrCat("grad must be the same size as indices in the first dimension, and as var "
                       "in the others: ",
                       gradients->shape().DebugString(), " instead of ", expected.DebugString()));
    }
    return absl::OkStatus();
  }

  // In the variables' own memory, unless a tensor that was read from them is still held.
  absl::Status Update(OpKernelContext* context,
                      absl::Span<const tensorflow::core::RefCountPtr<Var>> variables) const {
    TF_RETURN_IF_ERROR(CheckShapes(context, variables));
    TF_ASSIGN_OR_RETURN(const Tensor* gradients, Input(context, "grad"));
    TF_ASSIGN_OR_RETURN(const Tensor* indices, Input(context, "indices"));
    if (gradients->NumElements() == 0) return absl::OkStatus();

    std::vector<PJRT_Buffer*> operands;
    std::vector<ResultType> results;
    const auto add_operand = [&](const Tensor& tensor) -> absl::Status {
      TF_ASSIGN_OR_RETURN(operands.emplace_back(), BufferOf(tensor));
      return absl::OkStatus();
    };
    for (const auto& variable : variables) {
      const Tensor& tensor = *variable->tensor();
      const int alias = tensor.RefCountIsOne() ? static_cast<int>(operands.size()) : -1;
      results.push_back({tensor.dtype(), tensor.shape(), kOnexpuMemoryDevice, alias});
      TF_RETURN_IF_ERROR(add_operand(tensor));
    }
    for (size_t i = 0; op_.scalars[i] != nullptr; ++i) {
      TF_ASSIGN_OR_RETURN(const Tensor* scalar, Input(context, op_.scalars[i]));
      TF_RETURN_IF_ERROR(add_operand(*scalar));
    }
    TF_RETURN_IF_ERROR(add_operand(*gradients));
    TF_RETURN_IF_ERROR(add_operand(*indices));
    TF_ASSIGN_OR_RETURN(
        std::vector<OwnedBuffer> updated,
        Launch(*context, "onexpu.sparse_apply", operands, results, attributes_.attrs()));
    for (size_t i = 0; i < variables.size(); ++i) {
      TF_ASSIGN_OR_RETURN(
          *variables[i]->tensor(),
          MakeTensor(context, results[i].type, results[i].shape, std::move(updated[i])));
    }
    return absl::OkStatus();
  }

  const SparseApplyOp& op_;
  FfiAttributes attributes_;
};

}  // namespace

void RegisterSparseApplyKernels() {
  constexpr DataType kFloating[] = {tensorflow::DT_HALF, tensorflow::DT_BFLOAT16,
                                    tensorflow::DT_FLOAT, tensorflow::DT_DOUBLE};
  for (const SparseApplyOp& entry : kOps) {
    XpuKernel kernel(entry.op);
    kernel.TypeConstraint("T", kFloating);
    for (size_t i = 0; entry.variables[i] != nullptr; ++i) kernel.HostMemory(entry.variables[i]);
    Register<SparseApplyKernel>(kernel);
  }
}

}  // namespace onexpu::tf_plugin
