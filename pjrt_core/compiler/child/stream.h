// Byte strings over a connected socket, each with its length before it. Both ends of a compile in a
// child use it. Thread-compatible; the descriptor is the caller's.
#ifndef PJRT_CORE_COMPILER_CHILD_STREAM_H_
#define PJRT_CORE_COMPILER_CHILD_STREAM_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onexpu::compiler {

absl::Status SendBytes(int descriptor, absl::string_view bytes);
// UNAVAILABLE when the other end is gone.
absl::StatusOr<std::string> ReceiveBytes(int descriptor);

absl::Status SendNumber(int descriptor, int64_t number);
absl::StatusOr<int64_t> ReceiveNumber(int descriptor);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CHILD_STREAM_H_
