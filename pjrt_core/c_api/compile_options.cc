#include "pjrt_core/c_api/compile_options.h"

#include "absl/status/status.h"
#include "pjrt_core/program/status_macros.h"

namespace onexpu::c_api {
namespace {

enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

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

struct Field {
  uint32_t number;
  WireType type;
  uint64_t value;           // of varints and fixed sizes
  absl::string_view bytes;  // of the rest
};

absl::Status Malformed() {
  return absl::InvalidArgumentError(
      "onexpu: the compile options are no serialized xla.CompileOptionsProto");
}

// Takes one field after the other off the front of a message.
class FieldReader {
 public:
  explicit FieldReader(absl::string_view message) : rest_(message) {}

  bool done() const { return rest_.empty(); }

  absl::StatusOr<Field> Next() {
    ONEXPU_ASSIGN_OR_RETURN(uint64_t tag, Varint());
    Field field{static_cast<uint32_t>(tag >> 3), static_cast<WireType>(tag & 7), 0, {}};
    switch (field.type) {
      case kVarint: {
        ONEXPU_ASSIGN_OR_RETURN(field.value, Varint());
        return field;
      }
      case kBytes: {
        ONEXPU_ASSIGN_OR_RETURN(uint64_t size, Varint());
        ONEXPU_ASSIGN_OR_RETURN(field.bytes, Take(size));
        return field;
      }
      case kFixed64:
      case kFixed32: {
        ONEXPU_ASSIGN_OR_RETURN(field.bytes, Take(field.type == kFixed64 ? 8 : 4));
        return field;
      }
    }
    return Malformed();
  }

  absl::StatusOr<uint64_t> Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) return Malformed();
      const uint8_t byte = static_cast<uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      value |= uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return Malformed();
  }

 private:
  absl::StatusOr<absl::string_view> Take(uint64_t size) {
    if (size > rest_.size()) return Malformed();
    const absl::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }

  absl::string_view rest_;
};

// A repeated integer, packed or not.
absl::Status ReadDeviceIds(absl::string_view computation_device, std::vector<int>& ids) {
  for (FieldReader reader(computation_device); !reader.done();) {
    ONEXPU_ASSIGN_OR_RETURN(Field field, reader.Next());
    if (field.number != kReplicaDeviceIds) continue;
    if (field.type == kVarint) ids.push_back(static_cast<int>(field.value));
    if (field.type != kBytes) continue;
    for (FieldReader packed(field.bytes); !packed.done();) {
      ONEXPU_ASSIGN_OR_RETURN(uint64_t id, packed.Varint());
      ids.push_back(static_cast<int>(id));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadAssignment(absl::string_view assignment, LoadOptions& options) {
  for (FieldReader reader(assignment); !reader.done();) {
    ONEXPU_ASSIGN_OR_RETURN(Field field, reader.Next());
    if (field.number != kComputationDevices || field.type != kBytes) continue;
    ONEXPU_RETURN_IF_ERROR(ReadDeviceIds(field.bytes, options.device_ids));
  }
  return absl::OkStatus();
}

absl::Status ReadBuildOptions(absl::string_view build_options, LoadOptions& options) {
  for (FieldReader reader(build_options); !reader.done();) {
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

void AppendVarint(std::string& bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
}

void AppendInteger(std::string& bytes, uint32_t number, uint64_t value) {
  AppendVarint(bytes, number << 3 | kVarint);
  AppendVarint(bytes, value);
}

void AppendBytes(std::string& bytes, uint32_t number, absl::string_view value) {
  AppendVarint(bytes, number << 3 | kBytes);
  AppendVarint(bytes, value.size());
  bytes.append(value.data(), value.size());
}

}  // namespace

absl::StatusOr<LoadOptions> ReadLoadOptions(absl::string_view compile_options) {
  LoadOptions options;
  for (FieldReader reader(compile_options); !reader.done();) {
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
