// A SPIR-V module with its kernels' names, and what a module says of itself, read without a SPIR-V
// library. Pure functions; any thread.
#ifndef CUSTOM_KERNELS_SPIRV_BINARY_H_
#define CUSTOM_KERNELS_SPIRV_BINARY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace onexpu {

// A module that the SYCL compiler made.
struct SpirvBinary {
  std::vector<uint8_t> spirv;
  std::vector<std::string> entry_points;  // in the order of SyclSource::kernel_names
};

// The kernels' names in the order of the module. INVALID_ARGUMENT when the bytes are no well-formed
// module: this reads the frame of every instruction, so that a truncated module does not reach a
// driver (some accept it).
absl::StatusOr<std::vector<std::string>> SpirvEntryPoints(absl::Span<const uint8_t> spirv);

// What a module needs of a device.
struct SpirvNeeds {
  uint32_t major_version = 0, minor_version = 0;
  uint32_t addressing_model = 0;
  std::vector<uint32_t> capabilities;
  std::vector<std::string> extensions;
};

// Of a module that SpirvEntryPoints accepts.
SpirvNeeds ReadSpirvNeeds(absl::Span<const uint8_t> spirv);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_SPIRV_BINARY_H_
