// Eager launch of an FFI handler on buffers: the runtime half of the onexpu_launch extension.
#ifndef PJRT_CORE_RUNTIME_PROGRAM_LAUNCH_H_
#define PJRT_CORE_RUNTIME_PROGRAM_LAUNCH_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "pjrt_core/ffi/registry.h"
#include "pjrt_core/runtime/buffer/buffer.h"

namespace onexpu {

struct LaunchResultType {
  ArrayShape shape;
  MemoryKind memory_kind = MemoryKind::kDevice;
  int alias_operand = -1;  // that operand is donated and its memory becomes the result
};

// Allocates results, calls the handler's stages in the device's order (through the launcher when it
// is busy or the handler has host operands) and returns without waiting for the device. After an
// error donated operands are still their owners', as the handler left them. `attributes` is only
// read during the call. What a launch prepares serves later ones that are like it (launch_sites.h).
absl::StatusOr<std::vector<std::shared_ptr<Buffer>>> Launch(
    const FfiHandler& handler, Device* device, absl::Span<const std::shared_ptr<Buffer>> operands,
    absl::Span<const LaunchResultType> result_types, const XLA_FFI_Attrs* attributes);

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_PROGRAM_LAUNCH_H_
