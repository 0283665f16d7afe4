#include "pjrt_core/c_api/topology/topology.h"

#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/c_api/entry.h"
#include "pjrt_core/c_api/executable/compilation.h"
#include "pjrt_core/c_api/executable/executable.h"
#include "pjrt_core/c_api/plugin.h"
#include "pjrt_core/c_api/topology/target_catalog.h"

// What PJRT_TopologyDescription_Serialize hands out.
struct PJRT_SerializedTopology {
  std::string bytes;
};

namespace onexpu::c_api {
namespace {

constexpr absl::string_view kPlatformName = "xpu";

// Serialized form: the magic, the number of devices and the length of the kind as 32-bit integers,
// the kind, the target.
constexpr char kMagic[8] = {'O', 'X', 'P', 'U', 'T', 'O', 'P', '1'};

void AppendInteger(std::string& bytes, uint32_t value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string ToBytes(const PJRT_TopologyDescription& topology) {
  const std::string& kind = topology.descriptions.front()->kind;
  std::string bytes(kMagic, sizeof(kMagic));
  AppendInteger(bytes, static_cast<uint32_t>(topology.descriptions.size()));
  AppendInteger(bytes, static_cast<uint32_t>(kind.size()));
  bytes += kind;
  bytes.append(reinterpret_cast<const char*>(topology.target.data()), topology.target.size());
  return bytes;
}

absl::StatusOr<std::unique_ptr<PJRT_TopologyDescription>> FromBytes(absl::string_view bytes) {
  constexpr size_t kFixed = sizeof(kMagic) + 2 * sizeof(uint32_t);
  const absl::Status corrupt =
      absl::InvalidArgumentError("onexpu: not a serialized onexpu topology");
  if (bytes.size() < kFixed || std::memcmp(bytes.data(), kMagic, sizeof(kMagic)) != 0) {
    return corrupt;
  }
  uint32_t num_devices = 0;
  uint32_t kind_size = 0;
  std::memcpy(&num_devices, bytes.data() + sizeof(kMagic), sizeof(num_devices));
  std::memcpy(&kind_size, bytes.data() + sizeof(kMagic) + sizeof(num_devices), sizeof(kind_size));
  bytes.remove_prefix(kFixed);
  if (num_devices == 0 || num_devices > kMaxCatalogDevices || kind_size > bytes.size()) {
    return corrupt;
  }
  const absl::string_view kind = bytes.substr(0, kind_size);
  bytes.remove_prefix(kind_size);
  std::vector<uint8_t> target(bytes.begin(), bytes.end());
  if (!IsTargetDescription(target)) return corrupt;
  return std::make_unique<PJRT_TopologyDescription>(
      PluginVersion(), kind, static_cast<int>(num_devices), std::move(target));
}

// "" and "xpu" mean the devices of this machine; other names are looked up in the catalog: "pvc",
// "xpu:pvc", "pvc:4".
absl::Status Create(PJRT_TopologyDescription_Create_Args& args) {
  ONEXPU_RETURN_IF_ERROR(
      RequireArray(args, args.topology_name, args.topology_name_size, "topology_name"));
  const absl::string_view name(args.topology_name, args.topology_name_size);
  if (name.empty() || name == kPlatformName) {
    ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<Client> core, Client::Get());
    args.topology = new PJRT_TopologyDescription(*core);
    return absl::OkStatus();
  }
  ONEXPU_ASSIGN_OR_RETURN(CatalogTarget target, FindTarget(name));
  args.topology = new PJRT_TopologyDescription(PluginVersion(), target.kind, target.num_devices,
                                               std::move(target.description));
  return absl::OkStatus();
}

absl::Status Destroy(PJRT_TopologyDescription_Destroy_Args& args) {
  delete args.topology;
  return absl::OkStatus();
}

absl::Status PlatformName(PJRT_TopologyDescription_PlatformName_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.topology, "topology"));
  args.platform_name = kPlatformName.data();
  args.platform_name_size = kPlatformName.size();
  return absl::OkStatus();
}

absl::Status TopologyPlatformVersion(PJRT_TopologyDescription_PlatformVersion_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.topology, "topology"));
  args.platform_version = args.topology->platform_version.data();
  args.platform_version_size = args.topology->platform_version.size();
  return absl::OkStatus();
}

absl::Status GetDeviceDescriptions(PJRT_TopologyDescription_GetDeviceDescriptions_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.topology, "topology"));
  args.descriptions = args.topology->descriptions.data();
  args.num_descriptions = args.topology->descriptions.size();
  return absl::OkStatus();
}

absl::Status Serialize(PJRT_TopologyDescription_Serialize_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.topology, "topology"));
  auto* serialized = new PJRT_SerializedTopology{ToBytes(*args.topology)};
  args.serialized_bytes = serialized->bytes.data();
  args.serialized_bytes_size = serialized->bytes.size();
  args.serialized_topology = serialized;
  args.serialized_topology_deleter = [](PJRT_SerializedTopology* topology) { delete topology; };
  return absl::OkStatus();
}

absl::Status Deserialize(PJRT_TopologyDescription_Deserialize_Args& args) {
  ONEXPU_RETURN_IF_ERROR(RequireArray(args, args.serialized_topology, args.serialized_topology_size,
                                      "serialized_topology"));
  ONEXPU_ASSIGN_OR_RETURN(
      std::unique_ptr<PJRT_TopologyDescription> topology,
      FromBytes(absl::string_view(args.serialized_topology, args.serialized_topology_size)));
  args.topology = topology.release();
  return absl::OkStatus();
}

absl::Status Attributes(PJRT_TopologyDescription_Attributes_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.topology, "topology"));
  args.attributes = args.topology->attributes.list().data();
  args.num_attributes = args.topology->attributes.list().size();
  return absl::OkStatus();
}

absl::Status Compile(PJRT_Compile_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.topology, "topology"));
  ONEXPU_RETURN_IF_ERROR(Require(args, args.program, "program"));
  ONEXPU_RETURN_IF_ERROR(
      RequireArray(args, args.compile_options, args.compile_options_size, "compile_options"));
  ONEXPU_ASSIGN_OR_RETURN(
      program::Container program,
      CompileProgram(*args.program,
                     absl::string_view(args.compile_options, args.compile_options_size),
                     args.topology->target));
  args.executable = new PJRT_Executable{ExecutableMetadata::Of(std::move(program))};
  return absl::OkStatus();
}

}  // namespace
}  // namespace onexpu::c_api

PJRT_TopologyDescription::PJRT_TopologyDescription(const onexpu::Client& core)
    : platform_version(core.platform_version()) {
  for (const onexpu::Device* device : core.devices()) {
    Add(std::make_unique<PJRT_DeviceDescription>(*device));
  }
  const absl::Span<const uint8_t> description = core.devices().front()->target_description();
  target.assign(description.begin(), description.end());
}

PJRT_TopologyDescription::PJRT_TopologyDescription(absl::string_view version,
                                                   absl::string_view kind, int num_devices,
                                                   std::vector<uint8_t> target_description)
    : platform_version(version), target(std::move(target_description)) {
  for (int id = 0; id < num_devices; ++id) {
    Add(std::make_unique<PJRT_DeviceDescription>(
        id, kind, absl::Span<const std::pair<std::string, onexpu::AttributeValue>>()));
  }
}

void PJRT_TopologyDescription::Add(std::unique_ptr<PJRT_DeviceDescription> description) {
  descriptions.push_back(description.get());
  owned_descriptions.push_back(std::move(description));
}

void PJRT_TopologyDescription::BindApi(PJRT_Api* api) {
  using namespace onexpu::c_api;  // NOLINT: this file's own functions
  api->PJRT_TopologyDescription_Create = Entry<Create>::Call;
  api->PJRT_TopologyDescription_Destroy = Entry<Destroy>::Call;
  api->PJRT_TopologyDescription_PlatformName = Entry<PlatformName>::Call;
  api->PJRT_TopologyDescription_PlatformVersion = Entry<TopologyPlatformVersion>::Call;
  api->PJRT_TopologyDescription_GetDeviceDescriptions = Entry<GetDeviceDescriptions>::Call;
  api->PJRT_TopologyDescription_Serialize = Entry<Serialize>::Call;
  api->PJRT_TopologyDescription_Deserialize = Entry<Deserialize>::Call;
  api->PJRT_TopologyDescription_Attributes = Entry<Attributes>::Call;
  api->PJRT_Compile = Entry<Compile>::Call;
}
