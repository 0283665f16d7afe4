#include "pjrt_core/cpu_device/native_build/build_spirv.h"

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "pjrt_core/cpu_device/native_build/opencl_program.h"

namespace onexpu {
namespace {

using fork_server::ResponseCode;

constexpr uint8_t kFirstModule[] = {
#include "pjrt_core/cpu_device/native_build/first_module.inc"
};

struct Device {
  cl_device_id device;
  ClContext context;
};

// By name; filled before the first fork.
std::map<std::string, Device>& Devices() {
  static auto* devices = new std::map<std::string, Device>;
  return *devices;
}

std::string NameOf(cl_device_id device) {
  size_t size = 0;
  clGetDeviceInfo(device, CL_DEVICE_NAME, 0, nullptr, &size);
  std::string name(size, '\0');
  clGetDeviceInfo(device, CL_DEVICE_NAME, size, name.data(), nullptr);
  return name.c_str();
}

}  // namespace

void InitializeOpenCl() {
  cl_uint count = 0;
  if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS) return;
  std::vector<cl_platform_id> platforms(count);
  clGetPlatformIDs(count, platforms.data(), nullptr);
  for (cl_platform_id platform : platforms) {
    cl_device_id device = nullptr;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device, nullptr) != CL_SUCCESS) continue;
    ClContext context(clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr));
    if (context == nullptr) continue;
    // Warm: every child then finds the driver's compiler as a first build leaves it.
    ProgramFromSpirv(context.get(), device, kFirstModule).status().IgnoreError();
    Devices().try_emplace(NameOf(device), Device{device, std::move(context)});
  }
}

ResponseCode BuildSpirv(const std::string& spirv, const std::string& device, std::string* output) {
  const auto found = Devices().find(device);
  if (found == Devices().end()) {
    *output = "no CPU device has the name \"" + device + "\"";
    return ResponseCode::kInternal;
  }
  const absl::Span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(spirv.data()),
                                        spirv.size());
  const absl::StatusOr<ClProgram> program =
      ProgramFromSpirv(found->second.context.get(), found->second.device, bytes);
  if (!program.ok()) {
    *output = std::string(program.status().message());
    return ResponseCode::kInvalidInput;
  }
  const std::vector<uint8_t> binary = BinaryOf(program->get(), found->second.device);
  output->assign(binary.begin(), binary.end());
  return ResponseCode::kOk;
}

}  // namespace onexpu
