// A hash for keys and file names that outlive a process. Pure function.
#ifndef PJRT_CORE_DISK_CACHE_STABLE_HASH_H_
#define PJRT_CORE_DISK_CACHE_STABLE_HASH_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"

namespace onexpu {

// XXH3 with 128 bits, as hexadecimal digits. The same in all processes, builds and versions of
// xxHash since 0.8. Not cryptographic.
std::string StableHash(absl::Span<const uint8_t> bytes);

}  // namespace onexpu

#endif  // PJRT_CORE_DISK_CACHE_STABLE_HASH_H_
