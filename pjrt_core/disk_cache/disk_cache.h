// The cache directory as a whole: lists its entries and keeps it within limits.
//
// The directory holds compiled programs (programs/*.program), native binaries of kernels
// (kernels/*.bin), SPIR-V of SYCL sources (sycl/*.sycl) and precompiled headers (sycl/pch/**). The
// first three are read and written through entry_files.h, the headers by libsycl-jit. An entry may
// go at any time: its owner then makes it again. Files of other names are never listed or removed,
// because the user chooses the directory. Any thread, and safe for processes that share the
// directory.
#ifndef PJRT_CORE_DISK_CACHE_DISK_CACHE_H_
#define PJRT_CORE_DISK_CACHE_DISK_CACHE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace onexpu {

enum class CacheKind { kProgram, kBinary, kSpirv, kHeaders, kTemporary };

// Where the entries of a kind are.
struct CacheFolder {
  const char* path;  // in the cache directory
  const char* suffix;
};
// Not for kTemporary, which are files of every folder.
CacheFolder FolderOf(CacheKind kind);

struct CacheEntry {
  std::string path;
  CacheKind kind = CacheKind::kTemporary;
  uint64_t bytes = 0;
  int64_t last_used = 0;  // seconds since the epoch
};

struct CacheLimits {
  uint64_t bytes = UINT64_MAX;
  int64_t seconds = INT64_MAX;  // since an entry was used last
};

struct PrunedCache {
  uint64_t entries = 0;
  uint64_t bytes = 0;
};

// In no order. Empty for a directory that does not exist.
std::vector<CacheEntry> ListCache(const std::string& directory);

// Removes entries that have not been used for longer than the limit, then the least recently used
// ones until the rest fits. A temporary file is an entry when it is a day old: no writer takes that
// long.
PrunedCache PruneCache(const std::string& directory, const CacheLimits& limits);

// To be called after `bytes` were written to the directory. Prunes it after the first call of the
// process, unless another process has done so in the last five minutes, and whenever this process
// has written a sixteenth of the limit.
void LimitCache(const std::string& directory, const CacheLimits& limits, uint64_t bytes);

// Records that an entry is in use, to the hour.
void MarkUsed(const std::string& path);

}  // namespace onexpu

#endif  // PJRT_CORE_DISK_CACHE_DISK_CACHE_H_
