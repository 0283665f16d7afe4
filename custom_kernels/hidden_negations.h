// SPIR-V without negations of floating-point numbers. The CPU driver (intel-opencl-rt 2026.1.2)
// takes a negated value that is used after a barrier for the same in all work-items
// (docs/developer/cpu_driver_passes.md). Pure function; any thread.
#ifndef CUSTOM_KERNELS_HIDDEN_NEGATIONS_H_
#define CUSTOM_KERNELS_HIDDEN_NEGATIONS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"

namespace onexpu {

// The module with the sign bits flipped by operations of integers that the driver's optimiser does
// not turn into negations again. nullopt if it has no barrier or no negation. `spirv` is a module
// that SpirvEntryPoints accepts.
std::optional<std::vector<uint8_t>> WithHiddenNegations(absl::Span<const uint8_t> spirv);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_HIDDEN_NEGATIONS_H_
