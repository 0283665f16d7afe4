// Loads Programs on devices. Any thread.
#ifndef PJRT_CORE_RUNTIME_PROGRAM_PROGRAM_LOADER_H_
#define PJRT_CORE_RUNTIME_PROGRAM_PROGRAM_LOADER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "pjrt_core/runtime/program/loaded_program.h"
#include "pjrt_core/runtime/sycl_device/sycl_device.h"

namespace onexpu {

// On these devices, by partition and replica; on the first ones when there are none.
absl::StatusOr<std::shared_ptr<LoadedProgram>> LoadProgram(program::Container container,
                                                           std::vector<SyclDevice*> devices);

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_PROGRAM_PROGRAM_LOADER_H_
