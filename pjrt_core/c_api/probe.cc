#include "pjrt_core/c_api/probe.h"

#include <algorithm>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/c_api/entry.h"
#include "pjrt_core/runtime/client.h"

extern "C" __attribute__((visibility("default"))) int OnexpuProbe(char* message,
                                                                  size_t message_size) {
  const absl::Status status =
      onexpu::c_api::WithoutExceptions([] { return onexpu::Client::Probe(); });
  if (message != nullptr && message_size > 0) {
    const absl::string_view text = status.message();
    const size_t length = std::min(text.size(), message_size - 1);
    std::memcpy(message, text.data(), length);
    message[length] = '\0';
  }
  return static_cast<int>(status.code());
}
