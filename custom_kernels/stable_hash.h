// A hash that is the same in all processes. Pure function; any thread.
#ifndef CUSTOM_KERNELS_STABLE_HASH_H_
#define CUSTOM_KERNELS_STABLE_HASH_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace onexpu {

// FNV-1a, 64 bits.
inline uint64_t StableHash(absl::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
  return hash;
}

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_STABLE_HASH_H_
