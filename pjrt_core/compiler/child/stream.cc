#include "pjrt_core/compiler/child/stream.h"

#include <sys/socket.h>
#include <sys/types.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"

namespace onexpu::compiler {
namespace {

absl::Status SendAll(int descriptor, const char* data, size_t size) {
  while (size != 0) {
    const ssize_t sent = send(descriptor, data, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return absl::UnavailableError(absl::StrCat("send: ", std::strerror(errno)));
    data += sent;
    size -= sent;
  }
  return absl::OkStatus();
}

absl::Status ReceiveAll(int descriptor, char* data, size_t size) {
  while (size != 0) {
    const ssize_t received = recv(descriptor, data, size, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return absl::UnavailableError("the other end is gone");
    data += received;
    size -= received;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SendNumber(int descriptor, int64_t number) {
  return SendAll(descriptor, reinterpret_cast<const char*>(&number), sizeof(number));
}

absl::StatusOr<int64_t> ReceiveNumber(int descriptor) {
  int64_t number = 0;
  ONEXPU_RETURN_IF_ERROR(ReceiveAll(descriptor, reinterpret_cast<char*>(&number), sizeof(number)));
  return number;
}

absl::Status SendBytes(int descriptor, absl::string_view bytes) {
  ONEXPU_RETURN_IF_ERROR(SendNumber(descriptor, static_cast<int64_t>(bytes.size())));
  return SendAll(descriptor, bytes.data(), bytes.size());
}

absl::StatusOr<std::string> ReceiveBytes(int descriptor) {
  ONEXPU_ASSIGN_OR_RETURN(const int64_t size, ReceiveNumber(descriptor));
  if (size < 0) return absl::InternalError("a negative length");
  std::string bytes(size, '\0');
  ONEXPU_RETURN_IF_ERROR(ReceiveAll(descriptor, bytes.data(), bytes.size()));
  return bytes;
}

}  // namespace onexpu::compiler
