#include "pjrt_core/runtime/kernel_library/level_zero_log.h"

#include <dlfcn.h>

#include <cstddef>

#include "absl/strings/ascii.h"
#include "sycl/ext/oneapi/backend/level_zero.hpp"

namespace onexpu {
namespace {

// The part of Level Zero's API (version 1.0, "Module") that this needs. The headers are not among
// the build's dependencies.
using LogHandle = struct OpaqueLog*;
constexpr uint32_t kModuleDescription = 0x1b;  // ZE_STRUCTURE_TYPE_MODULE_DESC
constexpr uint32_t kSpirv = 0;                 // ZE_MODULE_FORMAT_IL_SPIRV

struct ModuleDescription {
  uint32_t structure_type = kModuleDescription;
  const void* next = nullptr;
  uint32_t format = kSpirv;
  size_t input_size = 0;
  const uint8_t* input = nullptr;
  const char* build_flags = nullptr;
  const void* constants = nullptr;
};

using CreateModule = uint32_t (*)(ze_context_handle_t, ze_device_handle_t, const ModuleDescription*,
                                  ze_module_handle_t*, LogHandle*);
using DestroyModule = uint32_t (*)(ze_module_handle_t);
using GetLog = uint32_t (*)(LogHandle, size_t*, char*);
using DestroyLog = uint32_t (*)(LogHandle);

// The loader that SYCL's adapter uses, which is in the process.
void* Loader() {
  static void* const loader = dlopen("libze_loader.so.1", RTLD_LAZY | RTLD_NOLOAD);
  return loader;
}

template <typename Function>
Function Find(const char* name) {
  return Loader() == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(Loader(), name));
}

}  // namespace

std::string LevelZeroBuildLog(const sycl::context& context, const sycl::device& device,
                              absl::Span<const uint8_t> spirv, const char* options) {
  constexpr sycl::backend kLevelZero = sycl::backend::ext_oneapi_level_zero;
  const auto create_module = Find<CreateModule>("zeModuleCreate");
  const auto destroy_module = Find<DestroyModule>("zeModuleDestroy");
  const auto get_log = Find<GetLog>("zeModuleBuildLogGetString");
  const auto destroy_log = Find<DestroyLog>("zeModuleBuildLogDestroy");
  if (device.get_backend() != kLevelZero || create_module == nullptr || destroy_module == nullptr ||
      get_log == nullptr || destroy_log == nullptr) {
    return "";
  }
  const ModuleDescription description{
      .input_size = spirv.size(), .input = spirv.data(), .build_flags = options};
  ze_module_handle_t module = nullptr;
  LogHandle handle = nullptr;
  const uint32_t result =
      create_module(sycl::get_native<kLevelZero>(context), sycl::get_native<kLevelZero>(device),
                    &description, &module, &handle);
  if (result == 0) destroy_module(module);
  std::string log;
  size_t size = 0;
  if (handle != nullptr && get_log(handle, &size, nullptr) == 0 && size > 0) {
    log.resize(size);
    if (get_log(handle, &size, log.data()) != 0) log.clear();
    log.resize(log.find('\0') == std::string::npos ? log.size() : log.find('\0'));
  }
  if (handle != nullptr) destroy_log(handle);
  if (result == 0) return "";
  return std::string(absl::StripAsciiWhitespace(log));
}

}  // namespace onexpu
