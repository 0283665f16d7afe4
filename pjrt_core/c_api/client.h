// PJRT_Client: one framework's handle of the process's core.
//
// Each PJRT_Client_Create makes one, all over the same onexpu::Client; it knows which framework
// asked, for the transfer counters. It owns the handles of devices, memories and topology, is
// immutable once made, and outlives, as PJRT demands of its callers, every buffer and executable
// made with it. Any thread.
#ifndef PJRT_CORE_C_API_CLIENT_H_
#define PJRT_CORE_C_API_CLIENT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pjrt_core/c_api/device/device.h"
#include "pjrt_core/c_api/device/memory.h"
#include "pjrt_core/c_api/topology/topology.h"
#include "pjrt_core/device/statistics.h"
#include "pjrt_core/runtime/client.h"
#include "xla/pjrt/c/pjrt_c_api.h"

struct PJRT_Client {
  static void BindApi(PJRT_Api* api);
  static absl::StatusOr<std::unique_ptr<PJRT_Client>> Create(
      onexpu::Origin origin, const onexpu::ClientOptions& options = {});

  // This client's handle of a device or memory space of the core.
  PJRT_Device* Find(const onexpu::Device* device) const;
  PJRT_Memory* Find(const onexpu::MemorySpace* memory) const;

  std::shared_ptr<onexpu::Client> core;
  onexpu::Origin origin;
  std::string platform_name;
  std::string platform_version;
  std::vector<std::unique_ptr<PJRT_Device>> owned_devices;
  std::vector<PJRT_Device*> devices;
  std::vector<PJRT_Memory*> memories;
  std::unique_ptr<PJRT_TopologyDescription> topology;

 private:
  PJRT_Client(std::shared_ptr<onexpu::Client> core, onexpu::Origin origin);
};

namespace onexpu::c_api {

// The memory space that a caller means: `memory`, or the default of `device`. Exactly what PJRT
// says: memory wins.
absl::StatusOr<MemorySpace*> ToMemorySpace(const PJRT_Memory* memory, const PJRT_Device* device);

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_CLIENT_H_
