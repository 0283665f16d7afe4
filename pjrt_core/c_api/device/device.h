// PJRT_Device: a device of the core, as one client's handle.
//
// Owned by the PJRT_Client; immutable once it is made, so any thread may use it.
#ifndef PJRT_CORE_C_API_DEVICE_DEVICE_H_
#define PJRT_CORE_C_API_DEVICE_DEVICE_H_

#include <memory>
#include <vector>

#include "pjrt_core/c_api/device/device_description.h"
#include "pjrt_core/c_api/device/memory.h"
#include "pjrt_core/device/device.h"
#include "xla/pjrt/c/pjrt_c_api.h"

struct PJRT_Device {
  static void BindApi(PJRT_Api* api);

  PJRT_Device(PJRT_Client* client, onexpu::Device* device);

  // The handle of one of this device's memory spaces.
  PJRT_Memory* memory(onexpu::MemoryKind kind) const { return memories[static_cast<size_t>(kind)]; }

  PJRT_Client* client;
  onexpu::Device* device;
  PJRT_DeviceDescription description;
  std::vector<std::unique_ptr<PJRT_Memory>> owned_memories;
  std::vector<PJRT_Memory*> memories;  // by MemoryKind; the default first
};

#endif  // PJRT_CORE_C_API_DEVICE_DEVICE_H_
