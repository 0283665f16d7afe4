// Results whose sizes the program computed.
#ifndef PJRT_CORE_C_API_EXECUTABLE_DYNAMIC_RESULTS_H_
#define PJRT_CORE_C_API_EXECUTABLE_DYNAMIC_RESULTS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "pjrt_core/c_api/buffer/buffer.h"
#include "pjrt_core/program/container.h"
#include "pjrt_core/runtime/program/loaded_program.h"

namespace onexpu::c_api {

// Takes the size result from the results, waits for it, and cuts the others to their sizes. Returns
// a shape for each result, null for those of static size. Results of a program that failed keep
// their bounds, and their error. INTERNAL if a size is beyond its bound.
//
// Blocks until the sizes are known. TensorFlow asks for them as soon as
// PJRT_LoadedExecutable_Execute returns, so nothing is gained by waiting later.
absl::StatusOr<std::vector<std::unique_ptr<const DynamicShape>>> CutToSizes(
    const program::Program& program, std::vector<std::shared_ptr<Buffer>>& results);

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_EXECUTABLE_DYNAMIC_RESULTS_H_
