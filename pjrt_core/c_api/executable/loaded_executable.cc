#include "pjrt_core/c_api/executable/loaded_executable.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/c_api/client.h"
#include "pjrt_core/c_api/entry.h"
#include "pjrt_core/c_api/executable/compilation.h"
#include "pjrt_core/c_api/executable/compile_options.h"

struct PJRT_DeviceAssignmentSerialized {
  std::string bytes;
};

namespace onexpu::c_api {
namespace {

// All devices with the target of the one with `ordinal` (-1: of the first one), which comes first.
std::vector<int> DevicesAlike(const PJRT_Client& client, int ordinal) {
  const auto has_ordinal = [&](const PJRT_Device* device) {
    return device->device->id() == ordinal;
  };
  const auto found = absl::c_find_if(client.devices, has_ordinal);
  const Device& first = *(found == client.devices.end() ? client.devices.front() : *found)->device;
  std::vector<int> ids = {first.id()};
  for (const PJRT_Device* device : client.devices) {
    const bool is_alike = device->device->target_description() == first.target_description();
    if (is_alike && device->device->id() != first.id()) ids.push_back(device->device->id());
  }
  return ids;
}

// Where the options want the Program: the assigned devices, the one of an ordinal, or the first
// ones. A portable executable may be sent to any device, so it is loaded on all of its kind.
std::vector<int> DeviceIds(const PJRT_Client& client, const LoadOptions& options) {
  if (options.portable) return DevicesAlike(client, options.device_ordinal);
  if (!options.device_ids.empty()) return options.device_ids;
  if (options.device_ordinal >= 0) return {options.device_ordinal};
  return {};
}

absl::StatusOr<PJRT_LoadedExecutable*> Load(PJRT_Client* client, program::Container program,
                                            absl::string_view compile_options) {
  ONEXPU_ASSIGN_OR_RETURN(LoadOptions options, ReadLoadOptions(compile_options));
  ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<LoadedProgram> loaded,
                          client->core->Load(std::move(program), DeviceIds(*client, options)));
  return new PJRT_LoadedExecutable(client, std::move(loaded));
}

// The target that a Program is compiled for: that of the first device it is to run on.
absl::StatusOr<absl::Span<const uint8_t>> Target(const PJRT_Client& client,
                                                 const LoadOptions& options) {
  const std::vector<int> ids = DeviceIds(client, options);
  if (ids.empty()) return client.core->devices().front()->target_description();
  ONEXPU_ASSIGN_OR_RETURN(Device * device, client.core->LookupDevice(ids.front()));
  return device->target_description();
}

absl::Status Compile(PJRT_Client_Compile_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.client, "client"));
  ONEXPU_RETURN_IF_ERROR(Require(args, args.program, "program"));
  ONEXPU_RETURN_IF_ERROR(
      RequireArray(args, args.compile_options, args.compile_options_size, "compile_options"));
  const absl::string_view serialized(args.compile_options, args.compile_options_size);
  ONEXPU_ASSIGN_OR_RETURN(LoadOptions options, ReadLoadOptions(serialized));
  ONEXPU_ASSIGN_OR_RETURN(absl::Span<const uint8_t> target, Target(*args.client, options));
  args.client->core->PrepareToLoad();
  ONEXPU_ASSIGN_OR_RETURN(program::Container program,
                          CompileProgram(*args.program, serialized, target));
  ONEXPU_ASSIGN_OR_RETURN(args.executable, Load(args.client, std::move(program), serialized));
  return absl::OkStatus();
}

absl::Status DeserializeAndLoad(PJRT_Executable_DeserializeAndLoad_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.client, "client"));
  ONEXPU_RETURN_IF_ERROR(Require(args, args.serialized_executable, "serialized_executable"));
  ONEXPU_ASSIGN_OR_RETURN(program::Container program,
                          program::Container::Parse(absl::MakeConstSpan(
                              reinterpret_cast<const uint8_t*>(args.serialized_executable),
                              args.serialized_executable_size)));
  if (args.overridden_serialized_compile_options != nullptr) {
    ONEXPU_ASSIGN_OR_RETURN(
        args.loaded_executable,
        Load(args.client, std::move(program),
             absl::string_view(args.overridden_serialized_compile_options,
                               args.overridden_serialized_compile_options_size)));
    return absl::OkStatus();
  }
  absl::string_view stored;
  if (const program::Blob* blob = program.program().compile_options(); blob != nullptr) {
    const absl::Span<const uint8_t> bytes = program.blob(*blob);
    stored = absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  ONEXPU_ASSIGN_OR_RETURN(args.loaded_executable, Load(args.client, std::move(program), stored));
  return absl::OkStatus();
}

absl::Status Destroy(PJRT_LoadedExecutable_Destroy_Args& args) {
  delete args.executable;
  return absl::OkStatus();
}

absl::Status GetExecutable(PJRT_LoadedExecutable_GetExecutable_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.loaded_executable, "loaded_executable"));
  args.executable = new PJRT_Executable{args.loaded_executable->metadata};
  return absl::OkStatus();
}

absl::Status AddressableDevices(PJRT_LoadedExecutable_AddressableDevices_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.executable, "executable"));
  args.addressable_devices = args.executable->devices.data();
  args.num_addressable_devices = args.executable->devices.size();
  return absl::OkStatus();
}

absl::Status GetDeviceAssignment(PJRT_LoadedExecutable_GetDeviceAssignment_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.executable, "executable"));
  auto* serialized = new PJRT_DeviceAssignmentSerialized{args.executable->device_assignment};
  args.serialized_bytes = serialized->bytes.data();
  args.serialized_bytes_size = serialized->bytes.size();
  args.serialized_device_assignment = serialized;
  args.serialized_device_assignment_deleter = [](PJRT_DeviceAssignmentSerialized* assignment) {
    delete assignment;
  };
  return absl::OkStatus();
}

absl::Status Delete(PJRT_LoadedExecutable_Delete_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.executable, "executable"));
  args.executable->program->Delete();
  return absl::OkStatus();
}

absl::Status IsDeleted(PJRT_LoadedExecutable_IsDeleted_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.executable, "executable"));
  args.is_deleted = args.executable->program->IsDeleted();
  return absl::OkStatus();
}

absl::Status GetFingerprint(PJRT_LoadedExecutable_Fingerprint_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.executable, "executable"));
  const flatbuffers::String* fingerprint = args.executable->metadata->program().fingerprint();
  args.executable_fingerprint = fingerprint == nullptr ? "" : fingerprint->c_str();
  args.executable_fingerprint_size = fingerprint == nullptr ? 0 : fingerprint->size();
  return absl::OkStatus();
}

}  // namespace
}  // namespace onexpu::c_api

PJRT_LoadedExecutable::PJRT_LoadedExecutable(PJRT_Client* client,
                                             std::shared_ptr<onexpu::LoadedProgram> loaded)
    : client(client),
      program(std::move(loaded)),
      metadata(onexpu::c_api::ExecutableMetadata::Of(program)) {
  std::vector<int> ids;
  for (const onexpu::Device* device : program->devices()) {
    devices.push_back(client->Find(device));
    ids.push_back(device->id());
  }
  const onexpu::program::Program& stored = metadata->program();
  // A portable Program is on more devices than it has replicas and partitions.
  ids.resize(static_cast<size_t>(stored.num_replicas()) * stored.num_partitions());
  device_assignment =
      onexpu::c_api::SerializeDeviceAssignment(stored.num_replicas(), stored.num_partitions(), ids);
}

void PJRT_LoadedExecutable::BindApi(PJRT_Api* api) {
  using namespace onexpu::c_api;  // NOLINT: this file's own functions
  api->PJRT_Client_Compile = Entry<Compile>::Call;
  api->PJRT_Executable_DeserializeAndLoad = Entry<DeserializeAndLoad>::Call;
  api->PJRT_LoadedExecutable_Destroy = Entry<Destroy>::Call;
  api->PJRT_LoadedExecutable_GetExecutable = Entry<GetExecutable>::Call;
  api->PJRT_LoadedExecutable_AddressableDevices = Entry<AddressableDevices>::Call;
  api->PJRT_LoadedExecutable_GetDeviceAssignment = Entry<GetDeviceAssignment>::Call;
  api->PJRT_LoadedExecutable_Delete = Entry<Delete>::Call;
  api->PJRT_LoadedExecutable_IsDeleted = Entry<IsDeleted>::Call;
  api->PJRT_LoadedExecutable_Fingerprint = Entry<GetFingerprint>::Call;
  BindExecute(api);
}
