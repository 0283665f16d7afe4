#include "tf_plugin/kernels/support/device_program.h"

#include <unordered_map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "tf_plugin/core/core_api.h"
#include "xla/pjrt/pjrt_executable.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

constexpr char kHloFormat[] = "hlo";

absl::StatusOr<PJRT_LoadedExecutable*> Compile(const xla::XlaComputation& computation) {
  xla::CompileOptions options;
  options.compile_portable_executable = true;  // The device is chosen when it runs.
  TF_ASSIGN_OR_RETURN(const xla::CompileOptionsProto options_proto, options.ToProto());
  const std::string serialized_options = options_proto.SerializeAsString();
  std::string code = computation.proto().SerializeAsString();

  PJRT_Program program{};
  program.struct_size = PJRT_Program_STRUCT_SIZE;
  program.code = code.data();
  program.code_size = code.size();
  program.format = kHloFormat;
  program.format_size = sizeof(kHloFormat) - 1;
  PJRT_Client_Compile_Args args{};
  args.struct_size = PJRT_Client_Compile_Args_STRUCT_SIZE;
  TF_ASSIGN_OR_RETURN(args.client, TensorFlowClient());
  args.program = &program;
  args.compile_options = serialized_options.data();
  args.compile_options_size = serialized_options.size();
  TF_RETURN_IF_ERROR(ToStatus(CoreApi().PJRT_Client_Compile(&args)));
  return args.executable;
}

absl::StatusOr<size_t> NumOutputs(PJRT_LoadedExecutable* executable) {
  PJRT_LoadedExecutable_GetExecutable_Args get{};
  get.struct_size = PJRT_LoadedExecutable_GetExecutable_Args_STRUCT_SIZE;
  get.loaded_executable = executable;
  TF_RETURN_IF_ERROR(ToStatus(CoreApi().PJRT_LoadedExecutable_GetExecutable(&get)));
  PJRT_Executable_NumOutputs_Args outputs{};
  outputs.struct_size = PJRT_Executable_NumOutputs_Args_STRUCT_SIZE;
  outputs.executable = get.executable;
  const absl::Status status = ToStatus(CoreApi().PJRT_Executable_NumOutputs(&outputs));
  PJRT_Executable_Destroy_Args destroy{};
  destroy.struct_size = PJRT_Executable_Destroy_Args_STRUCT_SIZE;
  destroy.executable = get.executable;
  TF_RETURN_IF_ERROR(ToStatus(CoreApi().PJRT_Executable_Destroy(&destroy)));
  TF_RETURN_IF_ERROR(status);
  return outputs.num_outputs;
}

struct DeviceProgram {
  PJRT_LoadedExecutable* executable = nullptr;
  size_t num_outputs = 0;
};

// Programs stay for the life of the process: there is one per shape of a list's elements, not per
// step.
class DevicePrograms {
 public:
  absl::StatusOr<DeviceProgram> Find(
      const std::string& key, const std::function<absl::StatusOr<xla::XlaComputation>()>& build) {
    absl::MutexLock lock(&mutex_);
    if (const auto found = programs_.find(key); found != programs_.end()) return found->second;
    TF_ASSIGN_OR_RETURN(const xla::XlaComputation computation, build());
    DeviceProgram program;
    TF_ASSIGN_OR_RETURN(program.executable, Compile(computation));
    TF_ASSIGN_OR_RETURN(program.num_outputs, NumOutputs(program.executable));
    programs_.emplace(key, program);
    return program;
  }

  static DevicePrograms& Get() {
    static DevicePrograms* const programs = new DevicePrograms;
    return *programs;
  }

 private:
  absl::Mutex mutex_;
  std::unordered_map<std::string, DeviceProgram> programs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::vector<OwnedBuffer>> RunDeviceProgram(
    const tensorflow::OpKernelContext& context, const std::string& key,
    const std::function<absl::StatusOr<xla::XlaComputation>()>& build,
    absl::Span<PJRT_Buffer* const> operands) {
  TF_ASSIGN_OR_RETURN(const DeviceProgram program, DevicePrograms::Get().Find(key, build));
  // No donation: the operands belong to tensors.
  std::vector<int64_t> kept(operands.size());
  for (size_t i = 0; i < kept.size(); ++i) kept[i] = static_cast<int64_t>(i);
  PJRT_ExecuteOptions options{};
  options.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
  options.non_donatable_input_indices = kept.data();
  options.num_non_donatable_input_indices = kept.size();

  std::vector<PJRT_Buffer*> results(program.num_outputs, nullptr);
  PJRT_Buffer* const* operand_list = operands.data();
  PJRT_Buffer** result_list = results.data();
  PJRT_LoadedExecutable_Execute_Args args{};
  args.struct_size = PJRT_LoadedExecutable_Execute_Args_STRUCT_SIZE;
  args.executable = program.executable;
  args.options = &options;
  args.argument_lists = &operand_list;
  args.num_devices = 1;
  args.num_args = operands.size();
  args.output_lists = &result_list;
  TF_ASSIGN_OR_RETURN(args.execute_device, DeviceOf(context));
  TF_RETURN_IF_ERROR(ToStatus(CoreApi().PJRT_LoadedExecutable_Execute(&args)));

  std::vector<OwnedBuffer> owned;
  owned.reserve(results.size());
  for (PJRT_Buffer* buffer : results) owned.emplace_back(buffer);
  return owned;
}

}  // namespace onexpu::tf_plugin
