// Entries of one kind in the cache directory: a file for each, found by its key.
//
// Immutable after creation; thread-safe, and safe between processes: entries are written to a
// temporary name and renamed. An entry carries its whole key and a checksum: one that is damaged,
// another key's, or that another user may write, counts as missing.
#ifndef PJRT_CORE_DISK_CACHE_ENTRY_FILES_H_
#define PJRT_CORE_DISK_CACHE_ENTRY_FILES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "pjrt_core/disk_cache/disk_cache.h"

namespace onexpu {

class EntryFiles {
 public:
  // The parts of a key, whose bounds count.
  using Key = absl::Span<const absl::Span<const uint8_t>>;

  // `kind` is kBinary, kProgram or kSpirv. An empty directory caches nothing.
  EntryFiles(const std::string& directory, CacheKind kind);

  std::optional<std::vector<uint8_t>> Find(Key key) const;
  // Returns the bytes written. 0 for failures, which are silent: the cache is a convenience. The
  // caller keeps the directory within its limits (disk_cache.h).
  uint64_t Store(Key key, absl::Span<const uint8_t> value) const;

  // Where the entry of `key` is, or would be.
  std::string PathOf(Key key) const;

 private:
  std::string directory_;  // of this kind
  std::string suffix_;
};

}  // namespace onexpu

#endif  // PJRT_CORE_DISK_CACHE_ENTRY_FILES_H_
