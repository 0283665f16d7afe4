// Native kernel binaries on disk, keyed by SPIR-V, device, driver and build options.
//
// Immutable after creation; thread-safe, and safe between processes (entry_files.h).
#ifndef PJRT_CORE_RUNTIME_KERNEL_LIBRARY_BINARY_CACHE_H_
#define PJRT_CORE_RUNTIME_KERNEL_LIBRARY_BINARY_CACHE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "pjrt_core/disk_cache/disk_cache.h"
#include "pjrt_core/disk_cache/entry_files.h"

namespace onexpu {

class BinaryCache {
 public:
  // `device_key` names device, driver and options. An empty directory caches nothing. The directory
  // is kept within `limits` (disk_cache.h).
  BinaryCache(const std::string& directory, std::string device_key, const CacheLimits& limits = {});

  std::optional<std::vector<uint8_t>> Find(absl::Span<const uint8_t> spirv) const;
  // Failures are silent: the cache is a convenience.
  void Store(absl::Span<const uint8_t> spirv, absl::Span<const uint8_t> binary) const;

  // Where the entry of `spirv` is, or would be.
  std::string PathOf(absl::Span<const uint8_t> spirv) const;

 private:
  EntryFiles files_;
  std::string root_;
  std::string device_key_;
  CacheLimits limits_;
};

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_KERNEL_LIBRARY_BINARY_CACHE_H_
