// PJRT_TopologyDescription: devices to compile for, present or not, and PJRT_Compile, which needs
// nothing else.
//
// A client's own describes its devices and belongs to the client; others belong to their caller.
// Immutable; any thread.
#ifndef PJRT_CORE_C_API_TOPOLOGY_TOPOLOGY_H_
#define PJRT_CORE_C_API_TOPOLOGY_TOPOLOGY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "pjrt_core/c_api/device/device_description.h"
#include "pjrt_core/c_api/device/named_value.h"
#include "pjrt_core/runtime/client.h"
#include "xla/pjrt/c/pjrt_c_api.h"

struct PJRT_TopologyDescription {
  static void BindApi(PJRT_Api* api);

  // The devices of this machine.
  explicit PJRT_TopologyDescription(const onexpu::Client& core);
  // `num_devices` devices of one kind, which need not be here. `target` is a FlatBuffer of
  // program.TargetDescription.
  PJRT_TopologyDescription(absl::string_view platform_version, absl::string_view kind,
                           int num_devices, std::vector<uint8_t> target);

  std::string platform_version;
  std::vector<uint8_t> target;  // what the compiler is told
  std::vector<std::unique_ptr<PJRT_DeviceDescription>> owned_descriptions;
  std::vector<PJRT_DeviceDescription*> descriptions;
  onexpu::c_api::NamedValues attributes;

 private:
  void Add(std::unique_ptr<PJRT_DeviceDescription> description);
};

#endif  // PJRT_CORE_C_API_TOPOLOGY_TOPOLOGY_H_
