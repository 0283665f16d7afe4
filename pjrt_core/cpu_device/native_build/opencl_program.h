// OpenCL programs from SPIR-V and from native binaries. Any thread; the driver builds one at a
// time.
#ifndef PJRT_CORE_CPU_DEVICE_NATIVE_BUILD_OPENCL_PROGRAM_H_
#define PJRT_CORE_CPU_DEVICE_NATIVE_BUILD_OPENCL_PROGRAM_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "pjrt_core/opencl/handle.h"

namespace onexpu {

// Built from a binary of this driver and device. INTERNAL with the driver's log if it rejects it.
absl::StatusOr<ClProgram> ProgramFromBinary(cl_context context, cl_device_id device,
                                            absl::Span<const uint8_t> binary);

// INTERNAL with the driver's log when the module does not build.
absl::StatusOr<ClProgram> ProgramFromSpirv(cl_context context, cl_device_id device,
                                           absl::Span<const uint8_t> spirv);

// The native code of a program that was built for this device; empty when the driver has none.
std::vector<uint8_t> BinaryOf(cl_program program, cl_device_id device);

}  // namespace onexpu

#endif  // PJRT_CORE_CPU_DEVICE_NATIVE_BUILD_OPENCL_PROGRAM_H_
