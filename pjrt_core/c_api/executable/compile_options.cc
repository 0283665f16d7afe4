#include "pjrt_core/c_api/executable/compile_options.h"

#include "absl/status/status.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/c_api/wire_format.h"

namespace onexpu::c_api {
namespace {

// xla.CompileOptionsProto
constexpr uint32_t kExecutableBuildOptions = 3;
constexpr uint32_t kCompilePortableExecutable = 4;
// xla.ExecutableBuildOptionsProto
constexpr uint32_t kDeviceOrdinal = 1;
constexpr uint32_t kDeviceAssignment = 9;
// xla.DeviceAssignmentProto
constexpr uint32_t kReplicaCount = 1;
constexpr uint32_t kComputationCount = 2;
constexpr uint32_t kComputationDevices = 3;
// xla.DeviceAssignmentProto.ComputationDevice
constexpr uint32_t kReplicaDeviceIds = 1;

constexpr char kType[] = "xla.CompileOptionsProto";

// A repeated integer, packed or not.
absl::Status ReadDeviceIds(absl::string_view computation_device, std::vector<int>& ids) {
  for (FieldReader reader(computation_device, kType); !reader.done();) {
    ONEXPU_ASSIGN_OR_RETURN(Field field, reader.Next());
    if (field.number != kReplicaDeviceIds) continue;
    if (field.type == kVarint) ids.push_back(static_cast<int>(field.value));
    if (field.type != kBytes) continue;
    for (FieldReader packed(field.bytes, kType); !packed.done();) {
      ONEXPU_ASSIGN_OR_RETURN(uint64_t id, packed.Varint());
      ids.push_back(static_cast<int>(id));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadAssignment(absl::string_view assignment, LoadOptions& options) {
  for (FieldReader reader(assignment, kType); !reader.done();) {
    ONEXPU_ASSIGN_OR_RETURN(Field field, reader.Next());
    if (field.number != kComputationDevices || field.type != kBytes) continue;
    ONEXPU_RETURN_IF_ERROR(ReadDeviceIds(field.bytes, options.device_ids));
  }
  return absl::OkStatus();
}

absl::Status ReadBuildOptions(absl::string_view build_options, LoadOptions& options) {
  for (FieldReader reader(build_options, kType); !reader.done();) {
    ONEXPU_ASSIGN_OR_RETURN(Field field, reader.Next());
    if (field.number == kDeviceOrdinal && field.type == kVarint) {
      options.device_ordinal = static_cast<int>(field.value);
    }
    if (field.number == kDeviceAssignment && field.type == kBytes) {
      ONEXPU_RETURN_IF_ERROR(ReadAssignment(field.bytes, options));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LoadOptions> ReadLoadOptions(absl::string_view compile_options) {
  LoadOptions options;
  for (FieldReader reader(compile_options, kType); !reader.done();) {
    ONEXPU_ASSIGN_OR_RETURN(Field field, reader.Next());
    if (field.number == kCompilePortableExecutable && field.type == kVarint) {
      options.portable = field.value != 0;
    }
    if (field.number == kExecutableBuildOptions && field.type == kBytes) {
      ONEXPU_RETURN_IF_ERROR(ReadBuildOptions(field.bytes, options));
    }
  }
  return options;
}

std::string SerializeDeviceAssignment(int num_replicas, int num_partitions,
                                      absl::Span<const int> device_ids) {
  std::string bytes;
  AppendInteger(bytes, kReplicaCount, num_replicas);
  AppendInteger(bytes, kComputationCount, num_partitions);
  for (int partition = 0; partition < num_partitions; ++partition) {
    std::string packed;
    for (int replica = 0; replica < num_replicas; ++replica) {
      AppendVarint(packed, static_cast<uint64_t>(device_ids[partition * num_replicas + replica]));
    }
    std::string devices;
    AppendBytes(devices, kReplicaDeviceIds, packed);
    AppendBytes(bytes, kComputationDevices, devices);
  }
  return bytes;
}

}  // namespace onexpu::c_api
