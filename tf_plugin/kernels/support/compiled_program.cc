#include "tf_plugin/kernels/support/compiled_program.h"

#include <cstdint>
#include <numeric>
#include <string>

#include "absl/algorithm/container.h"
#include "tf_plugin/core/core_api.h"
#include "xla/pjrt/pjrt_executable.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

constexpr char kHloFormat[] = "hlo";

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

absl::StatusOr<int> IdOf(PJRT_Device* device) {
  PJRT_Device_GetDescription_Args get{};
  get.struct_size = PJRT_Device_GetDescription_Args_STRUCT_SIZE;
  get.device = device;
  TF_RETURN_IF_ERROR(ToStatus(CoreApi().PJRT_Device_GetDescription(&get)));
  PJRT_DeviceDescription_Id_Args id{};
  id.struct_size = PJRT_DeviceDescription_Id_Args_STRUCT_SIZE;
  id.device_description = get.device_description;
  TF_RETURN_IF_ERROR(ToStatus(CoreApi().PJRT_DeviceDescription_Id(&id)));
  return id.id;
}

absl::StatusOr<absl::Span<PJRT_Device* const>> DevicesOf(PJRT_LoadedExecutable* executable) {
  PJRT_LoadedExecutable_AddressableDevices_Args args{};
  args.struct_size = PJRT_LoadedExecutable_AddressableDevices_Args_STRUCT_SIZE;
  args.executable = executable;
  TF_RETURN_IF_ERROR(ToStatus(CoreApi().PJRT_LoadedExecutable_AddressableDevices(&args)));
  return absl::MakeConstSpan(args.addressable_devices, args.num_addressable_devices);
}

}  // namespace

absl::StatusOr<CompiledProgram> CompiledProgram::Compile(const tensorflow::OpKernelContext& context,
                                                         const xla::HloModuleProto& module) {
  TF_ASSIGN_OR_RETURN(PJRT_Device* const device, DeviceOf(context));
  TF_ASSIGN_OR_RETURN(const int id, IdOf(device));
  xla::CompileOptions options;
  options.compile_portable_executable = true;  // the device is chosen when it runs
  options.executable_build_options.set_device_ordinal(id);
  TF_ASSIGN_OR_RETURN(const xla::CompileOptionsProto options_proto, options.ToProto());
  const std::string serialized_options = options_proto.SerializeAsString();
  std::string code = module.SerializeAsString();

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
  CompiledProgram result;
  result.executable_ = args.executable;
  TF_ASSIGN_OR_RETURN(result.devices_, DevicesOf(args.executable));
  TF_ASSIGN_OR_RETURN(result.num_outputs_, NumOutputs(args.executable));
  return result;
}

bool CompiledProgram::IsFor(const PJRT_Device* device) const {
  return absl::c_linear_search(devices_, device);
}

absl::StatusOr<absl::InlinedVector<OwnedBuffer, 4>> CompiledProgram::Run(
    const tensorflow::OpKernelContext& context, absl::Span<PJRT_Buffer* const> operands) const {
  // No donation: the operands belong to tensors.
  absl::InlinedVector<int64_t, 8> kept(operands.size());
  std::iota(kept.begin(), kept.end(), 0);
  PJRT_ExecuteOptions options{};
  options.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
  options.non_donatable_input_indices = kept.data();
  options.num_non_donatable_input_indices = kept.size();

  absl::InlinedVector<PJRT_Buffer*, 4> results(num_outputs_, nullptr);
  PJRT_Buffer* const* operand_list = operands.data();
  PJRT_Buffer** result_list = results.data();
  PJRT_LoadedExecutable_Execute_Args args{};
  args.struct_size = PJRT_LoadedExecutable_Execute_Args_STRUCT_SIZE;
  args.executable = executable_;
  args.options = &options;
  args.argument_lists = &operand_list;
  args.num_devices = 1;
  args.num_args = operands.size();
  args.output_lists = &result_list;
  TF_ASSIGN_OR_RETURN(args.execute_device, DeviceOf(context));
  TF_RETURN_IF_ERROR(ToStatus(CoreApi().PJRT_LoadedExecutable_Execute(&args)));
  absl::InlinedVector<OwnedBuffer, 4> owned;
  for (PJRT_Buffer* const buffer : results) owned.emplace_back(buffer);
  return owned;
}

}  // namespace onexpu::tf_plugin
