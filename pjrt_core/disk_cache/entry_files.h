// Entries of one kind in the cache directory: a file for each, found by its key.
//
// Immutable after creation; thread-safe, and safe between processes: entries are written to a
// temporary name and renamed. An entry carries its whole key, which is compared byte by byte, and a
// checksum: one that is damaged, another key's, or that another user may write, counts as missing.
#ifndef PJRT_CORE_DISK_CACHE_ENTRY_FILES_H_
#define PJRT_CORE_DISK_CACHE_ENTRY_FILES_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "pjrt_core/disk_cache/disk_cache.h"

namespace onexpu {

// What an entry is found by. Keys are equal if their parts are.
class EntryKey {
 public:
  // Copies the parts.
  EntryKey(std::initializer_list<absl::Span<const uint8_t>> parts);

  const std::vector<uint8_t>& bytes() const { return bytes_; }
  const std::string& name() const { return name_; }  // of the entry's file, without suffix

 private:
  std::vector<uint8_t> bytes_;
  std::string name_;
};

class EntryFiles {
 public:
  // `kind` is kBinary, kProgram or kSpirv. An empty directory caches nothing.
  EntryFiles(const std::string& directory, CacheKind kind);

  std::optional<std::vector<uint8_t>> Find(const EntryKey& key) const;
  // Returns the bytes written. 0 for failures, which are silent: the cache is a convenience. The
  // caller keeps the directory within its limits (disk_cache.h).
  uint64_t Store(const EntryKey& key, absl::Span<const uint8_t> value) const;

  // Where the entry of `key` is, or would be.
  std::string PathOf(const EntryKey& key) const;

 private:
  std::string directory_;  // of this kind
  std::string suffix_;
};

}  // namespace onexpu

#endif  // PJRT_CORE_DISK_CACHE_ENTRY_FILES_H_
