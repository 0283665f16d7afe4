#include "pjrt_core/c_api/extensions/xspace/xspace.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "pjrt_core/c_api/extensions/xspace/device_plane.h"
#include "pjrt_core/c_api/extensions/xspace/fields.h"
#include "pjrt_core/c_api/extensions/xspace/memory_plane.h"
#include "pjrt_core/c_api/extensions/xspace/metadata_plane.h"
#include "pjrt_core/c_api/wire_format.h"

namespace onexpu::c_api {

std::string SerializeXSpace(absl::Span<const DeviceProfile> devices) {
  std::string space;
  const std::string metadata = SerializeMetadataPlane(devices);
  if (!metadata.empty()) AppendBytes(space, xspace::kPlanes, metadata);
  AppendBytes(space, xspace::kPlanes, SerializeMemoryPlane(devices));
  for (const DeviceProfile& device : devices) {
    AppendBytes(space, xspace::kPlanes, SerializeDevicePlane(device));
    for (const QueueProfile& queue : device.queues) {
      if (queue.dropped == 0) continue;
      AppendBytes(space, xspace::kWarnings,
                  absl::StrCat("onexpu: the trace of xpu:", device.id, " (", queue.name,
                               ") was full: ", queue.dropped,
                               " commands are missing; profile fewer steps"));
    }
  }
  return space;
}

}  // namespace onexpu::c_api
