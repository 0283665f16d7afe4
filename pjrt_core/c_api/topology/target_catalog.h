// What can be compiled for without having it: GPUs by the names that Intel's compilers give them,
// and the CPU device.
//
// Constants; any thread.
#ifndef PJRT_CORE_C_API_TOPOLOGY_TARGET_CATALOG_H_
#define PJRT_CORE_C_API_TOPOLOGY_TARGET_CATALOG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace onexpu::c_api {

inline constexpr int kMaxCatalogDevices = 4096;

struct CatalogTarget {
  std::string kind;
  int num_devices = 1;
  std::vector<uint8_t> description;  // FlatBuffer, root program.TargetDescription
};

// "cpu", "pvc", "xpu:pvc", "pvc:4" (four of them). NOT_FOUND lists the names.
absl::StatusOr<CatalogTarget> FindTarget(absl::string_view name);

// Whether the bytes are a well-formed FlatBuffer of program.TargetDescription.
bool IsTargetDescription(absl::Span<const uint8_t> bytes);

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_TOPOLOGY_TARGET_CATALOG_H_
