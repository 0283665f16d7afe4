#include "custom_kernels/device_support.h"

#include <algorithm>
#include <string>
#include <vector>

#include "CL/cl.h"
#include "CL/cl_ext.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "custom_kernels/spirv_binary.h"
#include "pjrt_core/target/sycl_target.h"

namespace onexpu {
namespace {

constexpr uint32_t kPhysical64 = 2;

struct Capability {
  uint32_t number;
  const char* name;
};

// Names of what is most likely to be missing.
constexpr Capability kNames[] = {
    {1, "Shader"},
    {9, "Float16"},
    {10, "Float64"},
    {12, "Int64Atomics"},
    {5603, "FunctionPointersINTEL"},
    {6022, "CooperativeMatrixKHR"},
    {6033, "AtomicFloat32AddEXT"},
    {6034, "AtomicFloat64AddEXT"},
    {6115, "BFloat16ConversionINTEL"},
    {6118, "JointMatrixINTEL"},
};

// Hints, which every compiler of these devices takes, though not every driver lists them.
constexpr uint32_t kExpectAssume = 5629;
constexpr char kExpectAssumeExtension[] = "SPV_KHR_expect_assume";

struct Requirement {
  uint32_t capability;
  bool (*is_met)(const sycl::device& device);
};
constexpr Requirement kRequirements[] = {
    {9, [](const sycl::device& device) { return device.has(sycl::aspect::fp16); }},
    {10, HasFp64},
    {12, [](const sycl::device& device) { return device.has(sycl::aspect::atomic64); }}};

std::string NameOf(uint32_t capability) {
  for (const auto& [number, name] : kNames) {
    if (number == capability) return name;
  }
  return absl::StrCat("number ", capability);
}

template <typename T>
std::vector<T> Query(cl_device_id device, cl_device_info what) {
  size_t size = 0;
  if (clGetDeviceInfo(device, what, 0, nullptr, &size) != CL_SUCCESS) return {};
  std::vector<T> values(size / sizeof(T));
  if (clGetDeviceInfo(device, what, size, values.data(), nullptr) != CL_SUCCESS) return {};
  return values;
}

// What a device of OpenCL says of itself; nothing where the driver cannot say it.
absl::Status CheckOpenClDevice(cl_device_id device, const SpirvNeeds& needs) {
  const std::vector<char> versions = Query<char>(device, CL_DEVICE_IL_VERSION);
  const std::string text(versions.begin(), std::find(versions.begin(), versions.end(), 0));
  const std::string version =
      absl::StrCat("SPIR-V_", needs.major_version, ".", needs.minor_version);
  const std::vector<std::string> known = absl::StrSplit(text, ' ', absl::SkipEmpty());
  if (!known.empty() && std::find(known.begin(), known.end(), version) == known.end()) {
    return absl::UnimplementedError(
        absl::StrCat("is ", version, "; this device takes ", absl::StrJoin(known, ", ")));
  }
  const auto capabilities = Query<cl_uint>(device, CL_DEVICE_SPIRV_CAPABILITIES_KHR);
  if (capabilities.empty()) return absl::OkStatus();
  for (const uint32_t capability : needs.capabilities) {
    if (capability == kExpectAssume ||
        std::find(capabilities.begin(), capabilities.end(), capability) != capabilities.end()) {
      continue;
    }
    return absl::UnimplementedError(absl::StrCat("needs SPIR-V's capability ", NameOf(capability),
                                                 ", which this device lacks"));
  }
  std::vector<std::string> extensions = {kExpectAssumeExtension};
  for (const char* name : Query<const char*>(device, CL_DEVICE_SPIRV_EXTENSIONS_KHR)) {
    extensions.emplace_back(name);
  }
  for (const std::string& extension : needs.extensions) {
    if (std::find(extensions.begin(), extensions.end(), extension) != extensions.end()) continue;
    return absl::UnimplementedError(
        absl::StrCat("needs the extension ", extension, ", which this device lacks"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckDeviceSupport(const sycl::device& device, absl::Span<const uint8_t> spirv) {
  const SpirvNeeds needs = ReadSpirvNeeds(spirv);
  if (needs.addressing_model != kPhysical64) {
    return absl::UnimplementedError(
        "is SPIR-V for another target: its addresses must be of 64 bits (Physical64)");
  }
  for (const auto& [capability, is_met] : kRequirements) {
    const bool needed = std::find(needs.capabilities.begin(), needs.capabilities.end(),
                                  capability) != needs.capabilities.end();
    if (!needed || is_met(device)) continue;
    return absl::UnimplementedError(absl::StrCat("needs SPIR-V's capability ", NameOf(capability),
                                                 ", which this device lacks"));
  }
  if (device.get_backend() != sycl::backend::opencl) return absl::OkStatus();
  const cl_device_id handle = sycl::get_native<sycl::backend::opencl>(device);
  absl::Status status = CheckOpenClDevice(handle, needs);
  clReleaseDevice(handle);
  return status;
}

}  // namespace onexpu
