// PJRT_DeviceDescription: what is known of a device without having it.
//
// Owned by the PJRT_Device or the PJRT_TopologyDescription; immutable, so any thread may use it.
#ifndef PJRT_CORE_C_API_DEVICE_DEVICE_DESCRIPTION_H_
#define PJRT_CORE_C_API_DEVICE_DEVICE_DESCRIPTION_H_

#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "pjrt_core/c_api/device/named_value.h"
#include "pjrt_core/device/device.h"
#include "xla/pjrt/c/pjrt_c_api.h"

struct PJRT_DeviceDescription {
  static void BindApi(PJRT_Api* api);

  explicit PJRT_DeviceDescription(const onexpu::Device& device);
  PJRT_DeviceDescription(
      int id, absl::string_view kind,
      absl::Span<const std::pair<std::string, onexpu::AttributeValue>> attributes);

  int id;
  int process_index;
  std::string kind;
  std::string debug_string;
  std::string to_string;
  onexpu::c_api::NamedValues attributes;
};

#endif  // PJRT_CORE_C_API_DEVICE_DEVICE_DESCRIPTION_H_
