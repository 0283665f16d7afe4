#include "pjrt_core/c_api/client.h"

#include <dlfcn.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/c_api/entry.h"
#include "pjrt_core/c_api/plugin.h"

namespace onexpu::c_api {
namespace {

constexpr absl::string_view kNumCpuDevicesOption = "num_cpu_devices";
// JAX passes both if jax.distributed.initialize was called before.
constexpr absl::string_view kNumNodesOption = "num_nodes";
constexpr absl::string_view kNodeIdOption = "node_id";

// Who called: the framework whose library the return address lies in.
Origin OriginOfCaller(const void* return_address) {
  static constexpr std::pair<absl::string_view, Origin> kLibraries[] = {
      {"libtensorflow", Origin::kTensorFlow}, {"pywrap_tensorflow", Origin::kTensorFlow},
      {"libonexpu_tf", Origin::kTensorFlow},  {"/jaxlib/", Origin::kJax},
      {"/onexpu/", Origin::kOnexpu},
  };
  Dl_info info;
  if (dladdr(return_address, &info) == 0 || info.dli_fname == nullptr) return Origin::kUnknown;
  for (const auto& [part, origin] : kLibraries) {
    if (absl::StrContains(info.dli_fname, part)) return origin;
  }
  return Origin::kUnknown;
}

// A client is the only one of its program. The error has to come here: a later one would be an
// error of a program that already runs on part of its devices.
absl::Status RequireOneProcess(absl::Span<const PJRT_NamedValue> options) {
  const int64_t num_nodes = FindInteger(options, kNumNodesOption).value_or(1);
  if (num_nodes == 1) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(
      "onexpu: programs of several processes are not supported: num_nodes is ", num_nodes,
      " (node_id ", FindInteger(options, kNodeIdOption).value_or(0),
      "). Call jax.distributed.initialize with num_processes=1, or do not call it; one process "
      "can use all devices of this machine."));
}

absl::Status CreateUnknown(PJRT_Client_Create_Args& args) {
  const absl::Span<const PJRT_NamedValue> values(args.create_options, args.num_options);
  ONEXPU_RETURN_IF_ERROR(RequireOneProcess(values));
  ONEXPU_ASSIGN_OR_RETURN(
      std::unique_ptr<PJRT_Client> client,
      PJRT_Client::Create(Origin::kUnknown,
                          {FindInteger(values, kNumCpuDevicesOption).value_or(1)}));
  args.client = client.release();
  return absl::OkStatus();
}

// The table's function itself, because only its return address names the caller.
PJRT_Error* Create(PJRT_Client_Create_Args* args) {
  const Origin origin = OriginOfCaller(__builtin_return_address(0));
  PJRT_Error* error = Entry<CreateUnknown>::Call(args);
  if (error == nullptr) args->client->origin = origin;
  return error;
}

absl::Status Destroy(PJRT_Client_Destroy_Args& args) {
  delete args.client;
  return absl::OkStatus();
}

absl::Status PlatformName(PJRT_Client_PlatformName_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.client, "client"));
  args.platform_name = args.client->platform_name.data();
  args.platform_name_size = args.client->platform_name.size();
  return absl::OkStatus();
}

absl::Status PlatformVersion(PJRT_Client_PlatformVersion_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.client, "client"));
  args.platform_version = args.client->platform_version.data();
  args.platform_version_size = args.client->platform_version.size();
  return absl::OkStatus();
}

absl::Status ProcessIndex(PJRT_Client_ProcessIndex_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.client, "client"));
  args.process_index = 0;
  return absl::OkStatus();
}

// The states of all processes of the program, of which this is the only one. jaxlib aborts the
// process on an error.
absl::Status UpdateGlobalProcessInfo(PJRT_Client_UpdateGlobalProcessInfo_Args& args) {
  return Require(args, args.client, "client");
}

absl::Status TopologyDescription(PJRT_Client_TopologyDescription_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.client, "client"));
  args.topology = args.client->topology.get();
  return absl::OkStatus();
}

absl::Status Devices(PJRT_Client_Devices_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.client, "client"));
  args.devices = args.client->devices.data();
  args.num_devices = args.client->devices.size();
  return absl::OkStatus();
}

absl::Status AddressableDevices(PJRT_Client_AddressableDevices_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.client, "client"));
  args.addressable_devices = args.client->devices.data();
  args.num_addressable_devices = args.client->devices.size();
  return absl::OkStatus();
}

absl::Status AddressableMemories(PJRT_Client_AddressableMemories_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.client, "client"));
  args.addressable_memories = args.client->memories.data();
  args.num_addressable_memories = args.client->memories.size();
  return absl::OkStatus();
}

absl::Status LookupDevice(PJRT_Client_LookupDevice_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.client, "client"));
  ONEXPU_ASSIGN_OR_RETURN(onexpu::Device * device, args.client->core->LookupDevice(args.id));
  args.device = args.client->Find(device);
  return absl::OkStatus();
}

absl::Status LookupAddressableDevice(PJRT_Client_LookupAddressableDevice_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.client, "client"));
  ONEXPU_ASSIGN_OR_RETURN(onexpu::Device * device,
                          args.client->core->LookupDevice(args.local_hardware_id));
  args.addressable_device = args.client->Find(device);
  return absl::OkStatus();
}

// One device per replica and partition, in the order of ids.
absl::Status DefaultDeviceAssignment(PJRT_Client_DefaultDeviceAssignment_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.client, "client"));
  const int64_t wanted = int64_t{args.num_replicas} * args.num_partitions;
  if (args.num_replicas < 1 || args.num_partitions < 1 ||
      wanted > static_cast<int64_t>(args.client->devices.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: ", args.num_replicas, " replicas of ", args.num_partitions,
                     " partitions do not fit on ", args.client->devices.size(), " device(s)"));
  }
  if (static_cast<int64_t>(args.default_assignment_size) < wanted) {
    return absl::InvalidArgumentError("onexpu: default_assignment_size is too small");
  }
  ONEXPU_RETURN_IF_ERROR(Require(args, args.default_assignment, "default_assignment"));
  for (int64_t i = 0; i < wanted; ++i) {
    args.default_assignment[i] = args.client->devices[i]->device->id();
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MemorySpace*> ToMemorySpace(const PJRT_Memory* memory, const PJRT_Device* device) {
  if (memory != nullptr) return memory->space;
  if (device != nullptr) return device->device->memory(MemoryKind::kDevice);
  return absl::InvalidArgumentError("onexpu: neither a memory nor a device is given");
}

}  // namespace onexpu::c_api

PJRT_Client::PJRT_Client(std::shared_ptr<onexpu::Client> core_client, onexpu::Origin client_origin)
    : core(std::move(core_client)),
      origin(client_origin),
      platform_name(core->platform_name()),
      platform_version(core->platform_version()) {
  for (onexpu::Device* device : core->devices()) {
    owned_devices.push_back(std::make_unique<PJRT_Device>(this, device));
    devices.push_back(owned_devices.back().get());
    memories.insert(memories.end(), devices.back()->memories.begin(),
                    devices.back()->memories.end());
  }
  topology = std::make_unique<PJRT_TopologyDescription>(*core);
}

absl::StatusOr<std::unique_ptr<PJRT_Client>> PJRT_Client::Create(
    onexpu::Origin origin, const onexpu::ClientOptions& options) {
  ONEXPU_RETURN_IF_ERROR(onexpu::c_api::RegisterBuiltinHandlers());
  ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<onexpu::Client> core, onexpu::Client::Get(options));
  return std::unique_ptr<PJRT_Client>(new PJRT_Client(std::move(core), origin));
}

PJRT_Device* PJRT_Client::Find(const onexpu::Device* device) const {
  for (PJRT_Device* handle : devices) {
    if (handle->device == device) return handle;
  }
  return nullptr;
}

PJRT_Memory* PJRT_Client::Find(const onexpu::MemorySpace* memory) const {
  PJRT_Device* device = Find(memory->device());
  return device == nullptr ? nullptr : device->memory(memory->kind());
}

void PJRT_Client::BindApi(PJRT_Api* api) {
  using namespace onexpu::c_api;  // NOLINT: this file's own functions
  api->PJRT_Client_Create = onexpu::c_api::Create;
  api->PJRT_Client_Destroy = Entry<Destroy>::Call;
  api->PJRT_Client_PlatformName = Entry<PlatformName>::Call;
  api->PJRT_Client_PlatformVersion = Entry<PlatformVersion>::Call;
  api->PJRT_Client_ProcessIndex = Entry<ProcessIndex>::Call;
  api->PJRT_Client_UpdateGlobalProcessInfo = Entry<UpdateGlobalProcessInfo>::Call;
  api->PJRT_Client_TopologyDescription = Entry<TopologyDescription>::Call;
  api->PJRT_Client_Devices = Entry<Devices>::Call;
  api->PJRT_Client_AddressableDevices = Entry<AddressableDevices>::Call;
  api->PJRT_Client_AddressableMemories = Entry<AddressableMemories>::Call;
  api->PJRT_Client_LookupDevice = Entry<LookupDevice>::Call;
  api->PJRT_Client_LookupAddressableDevice = Entry<LookupAddressableDevice>::Call;
  api->PJRT_Client_DefaultDeviceAssignment = Entry<DefaultDeviceAssignment>::Call;
}
