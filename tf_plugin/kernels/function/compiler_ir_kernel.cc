// OnexpuCompilerIr: the compiler IR of a function on XPU, as text or bytes, for tf.function's
// experimental_get_compiler_ir.
//
// All operands are copied to the host, because some may be constants of the program. This is slow,
// which does not matter for an inspection tool.
//
// TensorFlow's own implementation supports only devices with a StreamExecutor platform. The stages
// have its names:
// https://www.tensorflow.org/api_docs/python/tf/types/experimental/PolymorphicFunction.
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/compiler/jit/compilability_check_util.h"
#include "tensorflow/compiler/jit/pjrt_device_compiler_client.h"
#include "tensorflow/compiler/jit/variable_info.h"
#include "tensorflow/compiler/jit/variable_info_util.h"
#include "tensorflow/compiler/jit/xla_compiler_options_util.h"
#include "tensorflow/compiler/jit/xla_launch_util.h"
#include "tensorflow/compiler/jit/xla_platform_info.h"
#include "tensorflow/compiler/tf2xla/xla_compiler.h"
#include "tensorflow/core/common_runtime/function_body.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/device.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/tfrt/common/pjrt_util.h"
#include "tf_plugin/core/core_api.h"
#include "tf_plugin/kernels/kernels.h"
#include "tf_plugin/kernels/support/registration.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/pjrt/pjrt_client.h"
#include "xla/service/hlo_graph_dumper.h"

namespace xla {

// TensorFlow exports it, in the namespace of XLA, and ships no header with it.
absl::StatusOr<std::string> ConvertHloToStablehlo(const HloModule& module, bool emit_bytecode);

}  // namespace xla

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::FunctionLibraryRuntime;
using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::XlaCompiler;

using Arguments = std::vector<XlaCompiler::Argument>;

// Those of `indices` from `first` on, counted from there.
std::vector<int> From(int first, const std::vector<int>& indices) {
  std::vector<int> rest;
  for (const int index : indices) {
    if (index >= first) rest.push_back(index - first);
  }
  return rest;
}

// What TensorFlow hands to the compiler, as HLO.
absl::StatusOr<std::unique_ptr<xla::HloModule>> ModuleOf(const xla::XlaComputation& computation) {
  TF_ASSIGN_OR_RETURN(const xla::ProgramShape shape, computation.GetProgramShape());
  return xla::HloModule::CreateFromProto(computation.proto(), xla::HloModuleConfig(shape));
}

absl::StatusOr<std::string> BeforeCompilation(const xla::HloModule& module,
                                              const std::string& stage) {
  if (stage == "stablehlo") return xla::ConvertHloToStablehlo(module, /*emit_bytecode=*/false);
  if (stage == "stablehlo_serialized") {
    return xla::ConvertHloToStablehlo(module, /*emit_bytecode=*/true);
  }
  if (stage == "hlo_serialized") return module.ToProto().SerializeAsString();
  xla::HloPrintOptions options;
  options.set_print_large_constants(false);
  options.set_print_operand_shape(true);
  options.set_print_metadata(stage != "hlo_no_metadata");
  return module.ToString(options);
}

absl::StatusOr<std::string> AfterCompilation(const xla::HloModule& module,
                                             const std::string& stage) {
  if (stage == "optimized_hlo_serialized") return module.ToProto().SerializeAsString();
  if (stage == "optimized_hlo_proto_serialized") {
    xla::HloProto proto;
    *proto.mutable_hlo_module() = module.ToProto();
    return proto.SerializeAsString();
  }
  if (stage == "optimized_hlo_dot") {
    return xla::RenderGraph(*module.entry_computation(), "Visualization", /*debug_options=*/{},
                            xla::RenderedGraphFormat::kDot, /*hlo_render_options=*/{});
  }
  return module.ToString();
}

class CompilerIrKernel final : public OpKernel {
 public:
  explicit CompilerIrKernel(OpKernelConstruction* construction) : OpKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("function", &function_));
    OP_REQUIRES_OK(construction, construction->GetAttr("stage", &stage_));
    OP_REQUIRES_OK(construction, construction->GetAttr("argument_types", &argument_types_));
    OP_REQUIRES_OK(construction, construction->GetAttr("argument_shapes", &argument_shapes_));
    OP_REQUIRES(construction, argument_types_.size() == argument_shapes_.size(),
                absl::InvalidArgumentError(
                    absl::StrCat("onexpu: ", argument_types_.size(), " argument_types and ",
                                 argument_shapes_.size(), " argument_shapes")));
  }

  void Compute(OpKernelContext* context) override {
    absl::StatusOr<std::string> text = Text(*context);
    OP_REQUIRES_OK(context, text.status());
    Tensor* output = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, tensorflow::TensorShape(), &output));
    output->scalar<tensorflow::tstring>()() = *std::move(text);
  }

 private:
  absl::StatusOr<std::string> Text(OpKernelContext& context) const {
    FunctionLibraryRuntime* const library = context.function_library();
    auto* const device = dynamic_cast<tensorflow::Device*>(context.device());
    if (library == nullptr || device == nullptr) {
      return absl::InternalError("onexpu: no function library, or no device");
    }
    TF_ASSIGN_OR_RETURN(const Arguments arguments, ArgumentsOf(context, *library, *device));
    const XlaCompiler::Options options = tensorflow::GenerateCompilerOptionsForPjRt(
        *library, device, tensorflow::XlaPlatformInfoFromDevice(device),
        /*pjrt_device_compiler=*/nullptr);
    XlaCompiler::CompileOptions compile_options;
    compile_options.always_return_tuple = false;
    compile_options.alias_resource_update = true;
    XlaCompiler compiler(options);
    XlaCompiler::CompilationResult translated;
    TF_RETURN_IF_ERROR(
        compiler.CompileFunction(compile_options, function_, arguments, &translated));
    if (!absl::StartsWith(stage_, "optimized_")) {
      TF_ASSIGN_OR_RETURN(const std::unique_ptr<xla::HloModule> module,
                          ModuleOf(*translated.computation));
      return BeforeCompilation(*module, stage_);
    }
    TF_ASSIGN_OR_RETURN(xla::PjRtClient * client,
                        tensorflow::GetPjRtClient(tensorflow::DeviceType(kDeviceType)));
    TF_ASSIGN_OR_RETURN(
        const std::unique_ptr<xla::PjRtLoadedExecutable> executable,
        tensorflow::PjRtDeviceCompilerClient(client).BuildExecutable(options, translated));
    TF_ASSIGN_OR_RETURN(const std::vector<std::shared_ptr<xla::HloModule>> modules,
                        executable->GetHloModules());
    if (modules.size() != 1) {
      return absl::InternalError(absl::StrCat("onexpu: ", modules.size(), " modules, not one"));
    }
    return AfterCompilation(*modules[0], stage_);
  }

  // First the arguments that are described by attributes, then the op's inputs.
  absl::StatusOr<Arguments> ArgumentsOf(OpKernelContext& context, FunctionLibraryRuntime& library,
                                        tensorflow::Device& device) const {
    const tensorflow::FunctionBody* body = nullptr;
    std::vector<int> constants, resources;
    TF_RETURN_IF_ERROR(tensorflow::GetBodyAndConstantsAndResources(&library, function_, &body,
                                                                   &constants, &resources));
    const auto& declared = body->record->fdef().signature().input_arg();
    const int described = static_cast<int>(argument_types_.size());
    if (declared.size() != described + context.num_inputs()) {
      return absl::InvalidArgumentError(
          absl::StrCat("onexpu: the function ", function_.name(), " takes ", declared.size(),
                       " arguments, and got ", described, " descriptions and ",
                       context.num_inputs(), " tensors"));
    }
    Arguments arguments(described);
    for (int i = 0; i < described; ++i) {
      arguments[i].kind = XlaCompiler::Argument::kParameter;
      arguments[i].type = argument_types_[i];
      arguments[i].shape = argument_shapes_[i];
    }
    std::vector<const Tensor*> tensors;
    for (int i = 0; i < context.num_inputs(); ++i) tensors.push_back(&context.input(i));
    std::vector<tensorflow::VariableInfo> variables;
    TF_RETURN_IF_ERROR(tensorflow::GetVariableInfosFromInputs(
        context.resource_manager(), &device, tensors, From(described, resources), &variables));
    TF_RETURN_IF_ERROR(tensorflow::LockVariables(absl::MakeSpan(variables)));
    TF_ASSIGN_OR_RETURN(Arguments rest,
                        tensorflow::XlaComputationLaunchContext::BuildXlaCompilerArguments(
                            From(described, constants), tensors, variables, &device));
    arguments.insert(arguments.end(), std::make_move_iterator(rest.begin()),
                     std::make_move_iterator(rest.end()));
    for (int i = 0; i < declared.size(); ++i) arguments[i].name = declared[i].name();
    return arguments;
  }

  tensorflow::NameAttrList function_;
  std::string stage_;
  std::vector<tensorflow::DataType> argument_types_;
  std::vector<tensorflow::TensorShape> argument_shapes_;
};

}  // namespace

void RegisterCompilerIrKernel() {
  Register<CompilerIrKernel>(XpuKernel("OnexpuCompilerIr").HostMemory("inputs").HostMemory("text"));
}

}  // namespace onexpu::tf_plugin
