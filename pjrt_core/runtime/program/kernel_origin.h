// Which kernels a module holds and what they compute, for the error of a module that does not
// build. Any thread.
#ifndef PJRT_CORE_RUNTIME_PROGRAM_KERNEL_ORIGIN_H_
#define PJRT_CORE_RUNTIME_PROGRAM_KERNEL_ORIGIN_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "pjrt_core/program/program_generated.h"

namespace onexpu {

// "kernel 'fusion_k0' (op 'concatenate.1', model.py:12)", several separated by commas. The kernels
// that `log` names if it names any, otherwise all of the module's.
std::string KernelOrigins(const program::Program& program, uint32_t module, absl::string_view log);

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_PROGRAM_KERNEL_ORIGIN_H_
