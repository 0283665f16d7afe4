#include "tf_plugin/registration/on_demand_kernels.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tensorflow/compiler/jit/xla_compile_on_demand_op.h"
#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow/core/framework/kernel_def.pb.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_plugin/any_shape/any_shape_run.h"
#include "tf_plugin/any_shape/any_shape_runs.h"
#include "tf_plugin/core/core_api.h"
#include "tf_plugin/core/placement_counters.h"
#include "tf_plugin/kernels/tensor_list/long_concat.h"
#include "tf_plugin/memo/instrumented_api.h"
#include "tf_plugin/memo/program_memo.h"
#include "tf_plugin/registration/on_demand_exceptions.h"
#include "tf_plugin/xla_backend/checked_translations.h"
#include "tf_plugin/xla_backend/compilation_device.h"
#include "tf_plugin/xla_backend/type_rules.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::KernelDef;
using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::XlaOpRegistry;

// Whether running `op` twice may differ: TensorFlow says so of variables, random numbers and
// whatever else has state.
bool IsStateful(const std::string& op) {
  const tensorflow::OpDef* definition = nullptr;
  return !tensorflow::OpRegistry::Global()->LookUpOpDef(op, &definition).ok() ||
         definition->is_stateful();
}

class OnDemandKernel final : public tensorflow::XlaCompileOnDemandOp {
 public:
  explicit OnDemandKernel(OpKernelConstruction* construction)
      : XlaCompileOnDemandOp(construction),
        is_stateful_(IsStateful(type_string())),
        any_shape_(MakeAnyShapeRun(*construction)),
        memo_(CoreApi()),
        executions_(PlacementCounter(Route::kOnDemand, type_string())) {}

  void Compute(OpKernelContext* context) override {
    const bool has_run = any_shape_ != nullptr && any_shape_->Run(*context);
    if (!has_run && (is_stateful_ || !memo_.Run(*context))) {
      const OpAlone alone;
      const ExecutionRecorder recorder;
      XlaCompileOnDemandOp::Compute(context);
      if (!context->status().ok()) return;
      if (!is_stateful_) memo_.Remember(*context, recorder);
    }
    if (context->status().ok()) Count(executions_);
  }

 private:
  const bool is_stateful_;
  const std::unique_ptr<AnyShapeRun> any_shape_;  // null: there is none
  ProgramMemo memo_;
  std::atomic<uint64_t>& executions_;
};

// The attribute that says what `op` computes with: the type of its first output, or of its first
// input where the output's type is fixed (comparisons).
std::string ElementTypeAttribute(const tensorflow::OpDef& op) {
  if (op.output_arg_size() > 0 && !op.output_arg(0).type_attr().empty()) {
    return op.output_arg(0).type_attr();
  }
  return op.input_arg_size() > 0 ? op.input_arg(0).type_attr() : "";
}

// Whether TensorFlow computes `op` on int32 in host memory on every accelerator, because int32 is
// its type of shapes, indices and loop counters. On the device each loop iteration would wait for
// its counter to come back.
bool HasHostInt32Kernel(const tensorflow::OpDef& op, const std::string& attribute) {
  const int num_arguments = op.input_arg_size() + op.output_arg_size();
  const tensorflow::KernelList kernels = tensorflow::GetRegisteredKernelsForOp(op.name());
  for (const KernelDef& kernel : kernels.kernel()) {
    if (kernel.device_type() != tensorflow::DEVICE_DEFAULT) continue;
    if (kernel.host_memory_arg_size() != num_arguments) continue;
    for (const auto& constraint : kernel.constraint()) {
      const auto& types = constraint.allowed_values().list().type();
      if (constraint.name() == attribute && types.size() == 1 && types[0] == tensorflow::DT_INT32) {
        return true;
      }
    }
  }
  return false;
}

void RemoveType(tensorflow::DataType type, KernelDef::AttrConstraint* constraint) {
  auto* const types = constraint->mutable_allowed_values()->mutable_list()->mutable_type();
  types->erase(std::remove(types->begin(), types->end(), type), types->end());
}

std::unique_ptr<KernelDef> DeviceKernel(const KernelDef& compilation_kernel) {
  auto kernel = std::make_unique<KernelDef>(compilation_kernel);
  kernel->set_device_type(kDeviceType);
  if (IsSetAside(*kernel)) kernel->clear_label();
  const tensorflow::OpDef* op = nullptr;
  TF_CHECK_OK(tensorflow::OpRegistry::Global()->LookUpOpDef(kernel->op(), &op));
  const std::string element_type = ElementTypeAttribute(*op);
  const bool host_int32 = HasHostInt32Kernel(*op, element_type);
  for (auto& constraint : *kernel->mutable_constraint()) {
    // Tensor lists exist as programs' inner values only: no program takes or gives one.
    RemoveType(tensorflow::DT_VARIANT, &constraint);
    if (host_int32 && constraint.name() == element_type) {
      RemoveType(tensorflow::DT_INT32, &constraint);
    }
    const auto types = constraint.allowed_values().list().type();  // a copy: some are removed
    for (const int type : types) {
      if (IsUnread(kernel->op(), constraint.name(), static_cast<tensorflow::DataType>(type))) {
        RemoveType(static_cast<tensorflow::DataType>(type), &constraint);
      }
    }
  }
  // Values that XLA must know when it compiles are best where it can read them.
  for (const std::string& argument :
       *XlaOpRegistry::CompileTimeConstantInputArgNames(kernel->op())) {
    kernel->add_host_memory_arg(argument);
  }
  return kernel;
}

}  // namespace

void RegisterOnDemandKernels() {
  static auto* const registrars =
      new std::vector<std::unique_ptr<tensorflow::kernel_factory::OpKernelRegistrar>>;
  for (const KernelDef* kernel : XlaOpRegistry::DeviceKernels(
           kCompilationDevice, /*include_compilation_only_kernels=*/false)) {
    if (OnDemandException(kernel->op()) != nullptr) continue;
    registrars->push_back(std::make_unique<tensorflow::kernel_factory::OpKernelRegistrar>(
        DeviceKernel(*kernel).release(),  // The registrar takes it.
        "OnDemandKernel", [](OpKernelConstruction* construction) -> OpKernel* {
          if (IsLongConcat(*construction)) return MakeLongConcat(construction);
          return new OnDemandKernel(construction);
        }));
  }
}

}  // namespace onexpu::tf_plugin
