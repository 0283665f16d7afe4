#include "pjrt_core/disk_cache/stable_hash.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/types/span.h"

#define XXH_INLINE_ALL
#include "xxhash.h"

namespace onexpu {

std::string StableHash(absl::Span<const uint8_t> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return absl::StrFormat("%016x%016x", hash.high64, hash.low64);
}

}  // namespace onexpu
