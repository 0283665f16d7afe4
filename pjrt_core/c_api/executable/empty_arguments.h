// Arguments without elements that the caller left out.
//
// TensorFlow's device tensors have no buffer if they hold no elements, for example a variable that
// was assigned an empty array of the host, and TensorFlow leaves them out of a program's arguments
// (PreparePjRtExecutableArguments).
#ifndef PJRT_CORE_C_API_EXECUTABLE_EMPTY_ARGUMENTS_H_
#define PJRT_CORE_C_API_EXECUTABLE_EMPTY_ARGUMENTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "pjrt_core/device/device.h"
#include "pjrt_core/program/program_generated.h"
#include "pjrt_core/runtime/buffer/buffer.h"

namespace onexpu::c_api {

using Arguments = absl::InlinedVector<std::shared_ptr<Buffer>, 16>;

// Inserts a buffer for each parameter without elements that has no argument, and adjusts
// `non_donatable`, which are indices of arguments. Does nothing if that does not give the program
// all of its arguments.
absl::Status InsertEmptyArguments(const program::Program& program, Device& device,
                                  Arguments& arguments, std::vector<int64_t>& non_donatable);

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_EXECUTABLE_EMPTY_ARGUMENTS_H_
