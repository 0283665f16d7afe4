// A library for LD_PRELOAD that stands between the SYCL runtime and the Level Zero loader.
//
// It records calls of the driver's API, one JSON object a line, in the file that ONEXPU_SHIM_LOG
// names, and changes some answers (`Options`). The SYCL runtime looks functions up by `dlsym`, so
// that is what the shim replaces. The driver with software devices (AUB mode without a stream)
// cannot make memory resident: the shim answers that it did.
#include <dlfcn.h>
#include <level_zero/ze_api.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "shim_copies.h"
#include "shim_options.h"
#include "shim_records.h"

namespace {

using Lookup = void* (*)(void*, const char*);
Lookup real_lookup;

SmallCopies& TheCopies() {
  static SmallCopies* const copies = new SmallCopies;
  return *copies;
}

std::atomic<int> launches{0};
bool AnyIsLost() { return TheOptions().lost_at >= 0 && launches > TheOptions().lost_at; }
bool IsLost() { return AnyIsLost() && TheOptions().lost_device < 0; }
bool Hangs() { return TheOptions().hangs_at >= 0 && launches > TheOptions().hangs_at; }

// Never destroyed: threads of the driver outlive statics.
struct Names {
  std::mutex mutex;
  std::map<void*, std::string> kernels;
  std::map<void*, std::string> groups;
  std::map<void*, int> devices;
  std::map<void*, int> devices_of_modules;
  std::map<void*, int> devices_of_kernels;
};
Names& TheNames() {
  static Names* const names = new Names;
  return *names;
}

int DeviceIndex(ze_device_handle_t device) {
  std::lock_guard<std::mutex> lock(TheNames().mutex);
  auto& devices = TheNames().devices;
  return devices.emplace(device, static_cast<int>(devices.size())).first->second;
}

// ---- Replacements. `real_F` is the loader's function F.

#define SHIM_FUNCTION(name) decltype(&::name) real_##name
SHIM_FUNCTION(zeInit);
SHIM_FUNCTION(zeInitDrivers);
SHIM_FUNCTION(zeMemAllocDevice);
SHIM_FUNCTION(zeMemAllocHost);
SHIM_FUNCTION(zeMemAllocShared);
SHIM_FUNCTION(zeMemFree);
SHIM_FUNCTION(zeMemFreeExt);
SHIM_FUNCTION(zeModuleCreate);
SHIM_FUNCTION(zeKernelCreate);
SHIM_FUNCTION(zeKernelSetGroupSize);
SHIM_FUNCTION(zeCommandListAppendLaunchKernel);
SHIM_FUNCTION(zeCommandListAppendMemoryCopy);
SHIM_FUNCTION(zeEventPoolCreate);
SHIM_FUNCTION(zeEventPoolDestroy);
SHIM_FUNCTION(zeEventCreate);
SHIM_FUNCTION(zeEventDestroy);
SHIM_FUNCTION(zeEventQueryStatus);
SHIM_FUNCTION(zeEventHostSynchronize);
SHIM_FUNCTION(zeCommandListHostSynchronize);
SHIM_FUNCTION(zeFenceHostSynchronize);
SHIM_FUNCTION(zeCommandQueueSynchronize);
SHIM_FUNCTION(zeDeviceGet);
SHIM_FUNCTION(zeDeviceGetProperties);
SHIM_FUNCTION(zeDeviceGetComputeProperties);
SHIM_FUNCTION(zeDeviceGetModuleProperties);
SHIM_FUNCTION(zeDeviceCanAccessPeer);
SHIM_FUNCTION(zeDeviceGetP2PProperties);
SHIM_FUNCTION(zeContextCreate);
SHIM_FUNCTION(zeContextCreateEx);
#undef SHIM_FUNCTION

// A driver that does not start.
ze_result_t zeInit(ze_init_flags_t flags) {
  return TheOptions().starts ? real_zeInit(flags) : ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE;
}

ze_result_t zeInitDrivers(uint32_t* count, ze_driver_handle_t* drivers,
                          ze_init_driver_type_desc_t* description) {
  if (TheOptions().starts) return real_zeInitDrivers(count, drivers, description);
  return ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE;
}

ze_result_t zeContextMakeMemoryResident(ze_context_handle_t context, ze_device_handle_t device,
                                        void* memory, size_t size) {
  Record(R"({"call": "resident", "context": "%p", "device": %d, "pointer": "%p", "size": %zu})",
         static_cast<void*>(context), DeviceIndex(device), memory, size);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeContextEvictMemory(ze_context_handle_t, ze_device_handle_t, void*, size_t) {
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeContextCreate(ze_driver_handle_t driver, const ze_context_desc_t* description,
                            ze_context_handle_t* context) {
  const ze_result_t result = real_zeContextCreate(driver, description, context);
  Record(R"({"call": "context", "context": "%p", "devices": null})",
         result == ZE_RESULT_SUCCESS ? static_cast<void*>(*context) : nullptr);
  return result;
}

ze_result_t zeContextCreateEx(ze_driver_handle_t driver, const ze_context_desc_t* description,
                              uint32_t count, ze_device_handle_t* devices,
                              ze_context_handle_t* context) {
  const ze_result_t result = real_zeContextCreateEx(driver, description, count, devices, context);
  Record(R"({"call": "context", "context": "%p", "devices": %u})",
         result == ZE_RESULT_SUCCESS ? static_cast<void*>(*context) : nullptr, count);
  return result;
}

// Whether the request lifts the limit of one allocation.
bool IsRelaxed(const void* next) {
  for (auto* one = static_cast<const ze_base_desc_t*>(next); one != nullptr;
       one = static_cast<const ze_base_desc_t*>(one->pNext)) {
    if (one->stype == ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC) return true;
  }
  return false;
}

ze_result_t zeMemAllocDevice(ze_context_handle_t context,
                             const ze_device_mem_alloc_desc_t* description, size_t size,
                             size_t alignment, ze_device_handle_t device, void** memory) {
  const ze_result_t result =
      real_zeMemAllocDevice(context, description, size, alignment, device, memory);
  if (result == ZE_RESULT_SUCCESS) TheCopies().AddDeviceMemory(*memory, size);
  Record(
      R"({"call": "allocate", "kind": "device", "device": %d, "size": %zu, "alignment": %zu, "relaxed": %s, "context": "%p", "result": %u})",
      DeviceIndex(device), size, alignment, IsRelaxed(description->pNext) ? "true" : "false",
      static_cast<void*>(context), result);
  return result;
}

ze_result_t zeMemAllocHost(ze_context_handle_t context, const ze_host_mem_alloc_desc_t* description,
                           size_t size, size_t alignment, void** memory) {
  const ze_result_t result = real_zeMemAllocHost(context, description, size, alignment, memory);
  // Not all of large memory, which would be touched for nothing.
  constexpr size_t kNumbers = sizeof TheOptions().host_numbers;
  if (result == ZE_RESULT_SUCCESS) {
    const size_t filled = std::min<size_t>(size, 64 << 20);
    for (size_t at = 0; at < filled; at += kNumbers) {
      std::memcpy(static_cast<char*>(*memory) + at, TheOptions().host_numbers,
                  std::min(kNumbers, filled - at));
    }
  }
  Record(
      R"({"call": "allocate", "kind": "host", "size": %zu, "alignment": %zu, "relaxed": %s, "context": "%p", "result": %u})",
      size, alignment, IsRelaxed(description->pNext) ? "true" : "false",
      static_cast<void*>(context), result);
  return result;
}

ze_result_t zeMemAllocShared(ze_context_handle_t context,
                             const ze_device_mem_alloc_desc_t* on_device,
                             const ze_host_mem_alloc_desc_t* on_host, size_t size, size_t alignment,
                             ze_device_handle_t device, void** memory) {
  const ze_result_t result =
      real_zeMemAllocShared(context, on_device, on_host, size, alignment, device, memory);
  Record(R"({"call": "allocate", "kind": "shared", "size": %zu, "alignment": %zu, "result": %u})",
         size, alignment, result);
  return result;
}

// Before the driver may give the addresses to another thread.
ze_result_t zeMemFree(ze_context_handle_t context, void* memory) {
  TheCopies().RemoveDeviceMemory(memory);
  return real_zeMemFree(context, memory);
}

ze_result_t zeMemFreeExt(ze_context_handle_t context, const ze_memory_free_ext_desc_t* description,
                         void* memory) {
  TheCopies().RemoveDeviceMemory(memory);
  return real_zeMemFreeExt(context, description, memory);
}

ze_result_t zeModuleCreate(ze_context_handle_t context, ze_device_handle_t device,
                           const ze_module_desc_t* description, ze_module_handle_t* module,
                           ze_module_build_log_handle_t* log) {
  static std::atomic<int> builds{0};
  const int at_once = ++builds;
  if (TheOptions().build_ms > 0) usleep(1000 * TheOptions().build_ms);
  const ze_result_t result = real_zeModuleCreate(context, device, description, module, log);
  --builds;
  Record(
      R"({"call": "module", "device": %d, "native": %s, "size": %zu, "flags": %s, "at_once": %d, "result": %u})",
      DeviceIndex(device), description->format == ZE_MODULE_FORMAT_NATIVE ? "true" : "false",
      description->inputSize, Quoted(description->pBuildFlags).c_str(), at_once, result);
  if (result == ZE_RESULT_SUCCESS) {
    const int index = DeviceIndex(device);
    std::lock_guard<std::mutex> lock(TheNames().mutex);
    TheNames().devices_of_modules[*module] = index;
  }
  return result;
}

ze_result_t zeKernelCreate(ze_module_handle_t module, const ze_kernel_desc_t* description,
                           ze_kernel_handle_t* kernel) {
  const ze_result_t result = real_zeKernelCreate(module, description, kernel);
  if (result == ZE_RESULT_SUCCESS) {
    std::lock_guard<std::mutex> lock(TheNames().mutex);
    TheNames().kernels[*kernel] = Quoted(description->pKernelName);
    TheNames().devices_of_kernels[*kernel] = TheNames().devices_of_modules[module];
  }
  Record(R"({"call": "kernel", "name": %s, "result": %u})",
         Quoted(description->pKernelName).c_str(), result);
  return result;
}

ze_result_t zeKernelSetGroupSize(ze_kernel_handle_t kernel, uint32_t x, uint32_t y, uint32_t z) {
  const ze_result_t result = real_zeKernelSetGroupSize(kernel, x, y, z);
  char text[64];
  std::snprintf(text, sizeof text, "[%u, %u, %u]", x, y, z);
  std::lock_guard<std::mutex> lock(TheNames().mutex);
  TheNames().groups[kernel] = text;
  return result;
}

ze_result_t RecordLaunch(ze_kernel_handle_t kernel, const ze_group_count_t& count,
                         const char* group, bool has_event, ze_result_t result) {
  std::string name;
  std::string size = group;
  {
    std::lock_guard<std::mutex> lock(TheNames().mutex);
    name = TheNames().kernels[kernel];
    if (size.empty()) size = TheNames().groups[kernel];
  }
  Record(
      R"({"call": "launch", "name": %s, "groups": [%u, %u, %u], "group": %s, "event": %s, "result": %u})",
      name.empty() ? "\"\"" : name.c_str(), count.groupCountX, count.groupCountY, count.groupCountZ,
      size.empty() ? "null" : size.c_str(), has_event ? "true" : "false", result);
  return result;
}

bool IsLostFor(ze_kernel_handle_t kernel) {
  if (!AnyIsLost() || TheOptions().lost_device < 0) return IsLost();
  std::lock_guard<std::mutex> lock(TheNames().mutex);
  return TheNames().devices_of_kernels[kernel] == TheOptions().lost_device;
}

ze_result_t zeCommandListAppendLaunchKernel(ze_command_list_handle_t list,
                                            ze_kernel_handle_t kernel,
                                            const ze_group_count_t* count, ze_event_handle_t event,
                                            uint32_t waits, ze_event_handle_t* waited) {
  ++launches;
  ze_result_t result = ZE_RESULT_ERROR_DEVICE_LOST;
  if (!IsLostFor(kernel)) {
    result = real_zeCommandListAppendLaunchKernel(list, kernel, count, event, waits, waited);
  }
  return RecordLaunch(kernel, *count, "", event != nullptr, result);
}

// Only newer loaders have it, so its type is written out.
struct GroupSize {
  uint32_t x, y, z;
};
using LaunchWithArguments = ze_result_t (*)(ze_command_list_handle_t, ze_kernel_handle_t,
                                            ze_group_count_t, GroupSize, void**, const void*,
                                            ze_event_handle_t, uint32_t, ze_event_handle_t*);
LaunchWithArguments real_launch_with_arguments;

ze_result_t LaunchKernelWithArguments(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
                                      ze_group_count_t count, GroupSize size, void** arguments,
                                      const void* next, ze_event_handle_t event, uint32_t waits,
                                      ze_event_handle_t* waited) {
  ++launches;
  ze_result_t result = ZE_RESULT_ERROR_DEVICE_LOST;
  if (!IsLostFor(kernel)) {
    result = real_launch_with_arguments(list, kernel, count, size, arguments, next, event, waits,
                                        waited);
  }
  char text[64];
  std::snprintf(text, sizeof text, "[%u, %u, %u]", size.x, size.y, size.z);
  return RecordLaunch(kernel, count, text, event != nullptr, result);
}

ze_result_t zeCommandListAppendMemoryCopy(ze_command_list_handle_t list, void* to, const void* from,
                                          size_t size, ze_event_handle_t event, uint32_t waits,
                                          ze_event_handle_t* waited) {
  ze_result_t result = ZE_RESULT_ERROR_DEVICE_LOST;
  if (!IsLost()) {
    result = real_zeCommandListAppendMemoryCopy(list, to, from, size, event, waits, waited);
  }
  if (TheOptions().copies) TheCopies().Copy(to, from, size);
  Record(R"({"call": "copy", "to": "%p", "from": "%p", "size": %zu, "event": %s, "result": %u})",
         to, from, size, event != nullptr ? "true" : "false", result);
  return result;
}

ze_result_t zeEventPoolCreate(ze_context_handle_t context, const ze_event_pool_desc_t* description,
                              uint32_t count, ze_device_handle_t* devices,
                              ze_event_pool_handle_t* pool) {
  Record(R"({"call": "event pool", "count": %u})", description->count);
  return real_zeEventPoolCreate(context, description, count, devices, pool);
}

ze_result_t zeEventPoolDestroy(ze_event_pool_handle_t pool) {
  Record(R"({"call": "destroy event pool"})");
  return real_zeEventPoolDestroy(pool);
}

ze_result_t zeEventCreate(ze_event_pool_handle_t pool, const ze_event_desc_t* description,
                          ze_event_handle_t* event) {
  Record(R"({"call": "event"})");
  return real_zeEventCreate(pool, description, event);
}

ze_result_t zeEventDestroy(ze_event_handle_t event) {
  Record(R"({"call": "destroy event"})");
  return real_zeEventDestroy(event);
}

// What is asked about work that was submitted: lost, never ready, or the driver's answer.
template <typename Function, typename... Arguments>
ze_result_t Ask(Function real, Arguments... arguments) {
  if (IsLost()) return ZE_RESULT_ERROR_DEVICE_LOST;
  return Hangs() ? ZE_RESULT_NOT_READY : real(arguments...);
}

// A wait without an answer takes time.
template <typename Function, typename Handle>
ze_result_t Wait(Function real, Handle handle, uint64_t timeout) {
  while (Hangs() && !IsLost() && timeout == UINT64_MAX) usleep(1000);
  return Ask(real, handle, timeout);
}

ze_result_t zeEventQueryStatus(ze_event_handle_t event) {
  return Ask(real_zeEventQueryStatus, event);
}
ze_result_t zeEventHostSynchronize(ze_event_handle_t event, uint64_t timeout) {
  return Wait(real_zeEventHostSynchronize, event, timeout);
}
ze_result_t zeCommandListHostSynchronize(ze_command_list_handle_t list, uint64_t timeout) {
  return Wait(real_zeCommandListHostSynchronize, list, timeout);
}
ze_result_t zeFenceHostSynchronize(ze_fence_handle_t fence, uint64_t timeout) {
  return Wait(real_zeFenceHostSynchronize, fence, timeout);
}
ze_result_t zeCommandQueueSynchronize(ze_command_queue_handle_t queue, uint64_t timeout) {
  return Wait(real_zeCommandQueueSynchronize, queue, timeout);
}

// Gives devices their indices in the driver's order.
ze_result_t zeDeviceGet(ze_driver_handle_t driver, uint32_t* count, ze_device_handle_t* devices) {
  const ze_result_t result = real_zeDeviceGet(driver, count, devices);
  for (uint32_t i = 0; devices != nullptr && i < *count; ++i) DeviceIndex(devices[i]);
  return result;
}

ze_result_t zeDeviceGetProperties(ze_device_handle_t device, ze_device_properties_t* properties) {
  const ze_result_t result = real_zeDeviceGetProperties(device, properties);
  const bool is_integrated = DeviceIndex(device) == 0 ? TheOptions().first_is_integrated
                                                      : TheOptions().other_is_integrated;
  if (is_integrated) properties->flags |= ZE_DEVICE_PROPERTY_FLAG_INTEGRATED;
  if (const char* free_memory = TheOptions().free_memory; free_memory != nullptr) {
    for (auto* one = static_cast<ze_base_properties_t*>(properties->pNext); one != nullptr;
         one = static_cast<ze_base_properties_t*>(one->pNext)) {
      if (one->stype != ZE_STRUCTURE_TYPE_DEVICE_USABLEMEM_SIZE_EXT_PROPERTIES) continue;
      auto* usable = reinterpret_cast<ze_device_usablemem_size_ext_properties_t*>(one);
      usable->currUsableMemSize = std::strtoull(free_memory, nullptr, 10);
    }
  }
  return result;
}

ze_result_t zeDeviceGetComputeProperties(ze_device_handle_t device,
                                         ze_device_compute_properties_t* properties) {
  const ze_result_t result = real_zeDeviceGetComputeProperties(device, properties);
  if (DeviceIndex(device) == 0) return result;
  if (const uint32_t group = TheOptions().other_group; group > 0) {
    properties->maxTotalGroupSize = group;
    properties->maxGroupSizeX = properties->maxGroupSizeY = properties->maxGroupSizeZ = group;
  }
  if (TheOptions().other_sub_group_8) {
    properties->numSubGroupSizes = 2;
    properties->subGroupSizes[0] = 8;
    properties->subGroupSizes[1] = 16;
  }
  return result;
}

ze_result_t zeDeviceGetModuleProperties(ze_device_handle_t device,
                                        ze_device_module_properties_t* properties) {
  const ze_result_t result = real_zeDeviceGetModuleProperties(device, properties);
  if (DeviceIndex(device) != 0 && !TheOptions().other_has_fp64) {
    properties->flags &= ~ZE_DEVICE_MODULE_FLAG_FP64;
    properties->fp64flags = 0;
  }
  return result;
}

ze_result_t zeDeviceCanAccessPeer(ze_device_handle_t device, ze_device_handle_t peer,
                                  ze_bool_t* value) {
  const ze_result_t result = real_zeDeviceCanAccessPeer(device, peer, value);
  if (TheOptions().peers > 0) *value = 1;
  return result;
}

ze_result_t zeDeviceGetP2PProperties(ze_device_handle_t device, ze_device_handle_t peer,
                                     ze_device_p2p_properties_t* properties) {
  const ze_result_t result = real_zeDeviceGetP2PProperties(device, peer, properties);
  if (TheOptions().peers > 0) properties->flags |= ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS;
  return result;
}

// The replacement of a function, or null; stores the loader's own.
void* Replacement(const char* name, void* real) {
#define SHIM_REPLACE(function)                                           \
  if (std::strcmp(name, #function) == 0) {                               \
    real_##function = reinterpret_cast<decltype(real_##function)>(real); \
    return reinterpret_cast<void*>(&function);                           \
  }
  SHIM_REPLACE(zeInit)
  SHIM_REPLACE(zeInitDrivers)
  SHIM_REPLACE(zeMemAllocDevice)
  SHIM_REPLACE(zeMemAllocHost)
  SHIM_REPLACE(zeMemAllocShared)
  SHIM_REPLACE(zeMemFree)
  SHIM_REPLACE(zeMemFreeExt)
  SHIM_REPLACE(zeModuleCreate)
  SHIM_REPLACE(zeKernelCreate)
  SHIM_REPLACE(zeKernelSetGroupSize)
  SHIM_REPLACE(zeCommandListAppendLaunchKernel)
  SHIM_REPLACE(zeCommandListAppendMemoryCopy)
  SHIM_REPLACE(zeEventPoolCreate)
  SHIM_REPLACE(zeEventPoolDestroy)
  SHIM_REPLACE(zeEventCreate)
  SHIM_REPLACE(zeEventDestroy)
  SHIM_REPLACE(zeEventQueryStatus)
  SHIM_REPLACE(zeEventHostSynchronize)
  SHIM_REPLACE(zeCommandListHostSynchronize)
  SHIM_REPLACE(zeFenceHostSynchronize)
  SHIM_REPLACE(zeCommandQueueSynchronize)
  SHIM_REPLACE(zeDeviceGet)
  SHIM_REPLACE(zeDeviceGetProperties)
  SHIM_REPLACE(zeDeviceGetComputeProperties)
  SHIM_REPLACE(zeDeviceGetModuleProperties)
  SHIM_REPLACE(zeDeviceCanAccessPeer)
  SHIM_REPLACE(zeDeviceGetP2PProperties)
  SHIM_REPLACE(zeContextCreate)
  SHIM_REPLACE(zeContextCreateEx)
#undef SHIM_REPLACE
  if (std::strcmp(name, "zeCommandListAppendLaunchKernelWithArguments") == 0) {
    real_launch_with_arguments = reinterpret_cast<LaunchWithArguments>(real);
    return reinterpret_cast<void*>(&LaunchKernelWithArguments);
  }
  if (std::strcmp(name, "zeContextMakeMemoryResident") == 0) {
    return reinterpret_cast<void*>(&zeContextMakeMemoryResident);
  }
  if (std::strcmp(name, "zeContextEvictMemory") == 0) {
    return reinterpret_cast<void*>(&zeContextEvictMemory);
  }
  return nullptr;
}

void FindLookup() {
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.2.5"}) {
    if (real_lookup == nullptr) {
      real_lookup = reinterpret_cast<Lookup>(dlvsym(RTLD_NEXT, "dlsym", version));
    }
  }
}

__attribute__((constructor)) void Start() { FindLookup(); }

__attribute__((noinline)) void* LookUpDriverFunction(void* library, const char* name) {
  void* real = real_lookup(library, name);
  if (real == nullptr) {
    Record(R"({"call": "missing", "name": "%s"})", name);
    return nullptr;
  }
  void* replacement = Replacement(name, real);
  return replacement == nullptr ? real : replacement;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void* dlsym(void* library, const char* name) {
  if (real_lookup == nullptr) FindLookup();
  if (name[0] == 'z' && name[1] == 'e') return LookUpDriverFunction(library, name);
  // A tail call: the C library finds the caller of RTLD_NEXT by the return address.
  return real_lookup(library, name);
}
