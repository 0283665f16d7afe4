// The limit of a device's memory pool, and where it comes from.
//
// Computed once, when the device is created. Thread-safe.
#ifndef PJRT_CORE_RUNTIME_MEMORY_MEMORY_LIMIT_H_
#define PJRT_CORE_RUNTIME_MEMORY_MEMORY_LIMIT_H_

#include <cstddef>
#include <optional>
#include <string>

#include "pjrt_core/base/environment.h"
#include "sycl/sycl.hpp"

namespace onexpu {

struct MemoryLimit {
  size_t bytes = 0;
  std::string source;  // "92 % of the device's memory"
  std::string remedy;  // "raise ONEXPU_MEMORY_LIMIT"; empty for none
};

// The user's settings.
struct MemoryChoice {
  std::optional<size_t> bytes;  // ONEXPU_MEMORY_LIMIT
  std::optional<MemoryFraction> fraction;
};

// The memory of a device and of its host, in bytes.
struct MemoryFacts {
  size_t total = 0;            // of the device
  std::optional<size_t> free;  // of that, now; nullopt if the driver does not report it
  bool is_of_host = false;     // the device's memory is the host's
  size_t host = 0;             // host memory that the process may use
  int devices_on_host = 1;     // that share the host's memory
};

// The CPU device, and integrated GPUs.
bool HasMemoryOfHost(const sycl::device& device);

MemoryFacts AskMemory(const sycl::device& device, int devices_on_host);

MemoryLimit LimitOf(const MemoryFacts& facts, const MemoryChoice& choice);

// The limit of pinned host memory.
MemoryLimit PinnedLimit();

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_MEMORY_MEMORY_LIMIT_H_
