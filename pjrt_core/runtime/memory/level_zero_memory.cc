#include "pjrt_core/runtime/memory/level_zero_memory.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/device/library_errors.h"
#include "sycl/ext/oneapi/backend/level_zero.hpp"

namespace onexpu {
namespace {

constexpr auto kLevelZero = sycl::backend::ext_oneapi_level_zero;

// The structures of Level Zero's interface that are used here.
constexpr uint32_t kDeviceMemoryDescription = 0x15;
constexpr uint32_t kHostMemoryDescription = 0x16;
constexpr uint32_t kRelaxedLimits = 0x00020001;
constexpr uint32_t kDeviceProperties = 0x3;
constexpr uint32_t kUsableMemory = 0x00020041;

struct RelaxedLimits {
  uint32_t type = kRelaxedLimits;
  const void* next = nullptr;
  uint32_t flags = 1;  // the size may exceed maxMemAllocSize
};
struct DeviceMemoryDescription {
  uint32_t type = kDeviceMemoryDescription;
  const void* next = nullptr;
  uint32_t flags = 0;
  uint32_t ordinal = 0;
};
struct HostMemoryDescription {
  uint32_t type = kHostMemoryDescription;
  const void* next = nullptr;
  uint32_t flags = 0;
};

struct UsableMemory {
  uint32_t type = kUsableMemory;
  void* next = nullptr;
  uint64_t bytes = 0;
};
struct DeviceProperties {
  uint32_t type = kDeviceProperties;
  void* next = nullptr;
  char rest[1024] = {};  // larger than what follows, which is not used
};

using AllocateDevice = uint32_t (*)(void* context, const DeviceMemoryDescription*, size_t bytes,
                                    size_t alignment, void* device, void** memory);
using AllocateHost = uint32_t (*)(void* context, const HostMemoryDescription*, size_t bytes,
                                  size_t alignment, void** memory);
using GetDeviceProperties = uint32_t (*)(void* device, DeviceProperties*);
using Free = uint32_t (*)(void* context, void* memory);

struct Functions {
  AllocateDevice allocate_device = nullptr;
  AllocateHost allocate_host = nullptr;
  Free free = nullptr;
  GetDeviceProperties get_device_properties = nullptr;
};

// The loader is already in the process, because SYCL's adapter opened it.
const Functions& LoaderFunctions() {
  static const Functions functions = [] {
    Functions found;
    void* const loader = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_LOCAL);
    if (loader == nullptr) return found;
    found.allocate_device = reinterpret_cast<AllocateDevice>(dlsym(loader, "zeMemAllocDevice"));
    found.allocate_host = reinterpret_cast<AllocateHost>(dlsym(loader, "zeMemAllocHost"));
    found.free = reinterpret_cast<Free>(dlsym(loader, "zeMemFree"));
    found.get_device_properties =
        reinterpret_cast<GetDeviceProperties>(dlsym(loader, "zeDeviceGetProperties"));
    return found;
  }();
  return functions;
}

}  // namespace

absl::StatusOr<void*> AllocateAboveLimit(MemoryKind kind, size_t bytes, size_t alignment,
                                         const sycl::device& device, const sycl::context& context) {
  const Functions& loader = LoaderFunctions();
  if (loader.allocate_device == nullptr || loader.allocate_host == nullptr ||
      loader.free == nullptr) {
    return absl::UnimplementedError("libze_loader.so.1 has no functions for memory");
  }
  void* const native_context = sycl::get_native<kLevelZero>(context);
  const RelaxedLimits relaxed;
  void* memory = nullptr;
  uint32_t result;
  if (kind == MemoryKind::kDevice) {
    const DeviceMemoryDescription description{.next = &relaxed};
    result = loader.allocate_device(native_context, &description, bytes, alignment,
                                    sycl::get_native<kLevelZero>(device), &memory);
  } else {
    const HostMemoryDescription description{.next = &relaxed};
    result = loader.allocate_host(native_context, &description, bytes, alignment, &memory);
  }
  if (result == 0 && memory != nullptr) return memory;
  return absl::ResourceExhaustedError(
      absl::StrCat("the driver answered Level Zero error 0x", absl::Hex(result)));
}

void FreeAboveLimit(void* memory, const sycl::context& context) {
  LoaderFunctions().free(sycl::get_native<kLevelZero>(context), memory);
}

std::optional<size_t> FreeDeviceMemory(const sycl::device& device) {
  std::optional<size_t> result;
  CatchLibraryErrors([&] {
    if (device.get_backend() != kLevelZero) return absl::OkStatus();
    UsableMemory usable;  // stays 0 if the driver does not know the structure
    DeviceProperties properties{.next = &usable};
    const GetDeviceProperties get = LoaderFunctions().get_device_properties;
    if (get != nullptr && get(sycl::get_native<kLevelZero>(device), &properties) == 0 &&
        usable.bytes > 0) {
      result = usable.bytes;
    } else if (device.has(sycl::aspect::ext_intel_free_memory)) {
      result = device.get_info<sycl::ext::intel::info::device::free_memory>();
    }
    return absl::OkStatus();
  }).IgnoreError();
  return result;
}

bool AllModulesHaveLargeBufferOption() {
  const char* value = std::getenv("UR_L0_ENABLE_RELAXED_ALLOCATION_LIMITS");
  return value != nullptr && absl::string_view(value) != "0";
}

}  // namespace onexpu
