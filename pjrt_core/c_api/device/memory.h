// PJRT_Memory: a memory space of a device, as one client's handle. And PJRT_MemoryDescription,
// which needs no device.
//
// Owned by the PJRT_Client; immutable once it is made, so any thread may use it.
#ifndef PJRT_CORE_C_API_DEVICE_MEMORY_H_
#define PJRT_CORE_C_API_DEVICE_MEMORY_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "pjrt_core/device/device.h"
#include "xla/pjrt/c/pjrt_c_api.h"
#include "xla/pjrt/c/pjrt_c_api_memory_descriptions_extension.h"

struct PJRT_Memory {
  static void BindApi(PJRT_Api* api);

  explicit PJRT_Memory(onexpu::MemorySpace* space, PJRT_Device* device);

  onexpu::MemorySpace* space;
  std::vector<PJRT_Device*> devices;  // that can address it
  std::string debug_string;
  std::string to_string;
};

struct PJRT_MemoryDescription {
  onexpu::MemoryKind kind;
};

namespace onexpu::c_api {

// "device", "pinned_host": the words of JAX.
absl::string_view MemoryKindName(MemoryKind kind);

// What every device has, the default first.
absl::Span<const PJRT_MemoryDescription* const> MemoryDescriptions();

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_DEVICE_MEMORY_H_
