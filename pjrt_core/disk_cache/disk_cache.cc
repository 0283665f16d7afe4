#include "pjrt_core/disk_cache/disk_cache.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/base/const_init.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace onexpu {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kHour = 3600;
constexpr int64_t kDay = 24 * kHour;
// Between the first writes of processes that prune.
constexpr int64_t kPruneInterval = 300;

struct Directory {
  const char* path;  // in the cache
  CacheKind kind;
  const char* prefix;  // of the names of its entries
  const char* suffix;
  const char* temporary;  // in the names of files that are being written
};
constexpr Directory kDirectories[] = {
    {"programs", CacheKind::kProgram, "", ".program", ".program."},
    {"kernels", CacheKind::kBinary, "", ".bin", ".bin."},
    {"sycl", CacheKind::kSpirv, "", ".sycl", ".sycl."},
    // LLVM's cache names them.
    {"sycl/pch", CacheKind::kHeaders, "llvmcache-", "", "syclrtc-tmp-"},
};

std::optional<CacheKind> KindOf(const Directory& directory, absl::string_view name) {
  if (absl::StrContains(name, directory.temporary)) return CacheKind::kTemporary;
  if (absl::StartsWith(name, directory.prefix) && absl::EndsWith(name, directory.suffix)) {
    return directory.kind;
  }
  return std::nullopt;
}

void AddEntry(const Directory& directory, const fs::path& path, std::vector<CacheEntry>& entries) {
  const std::optional<CacheKind> kind = KindOf(directory, path.filename().string());
  struct stat status;
  if (!kind.has_value() || lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  entries.push_back({.path = path.string(),
                     .kind = *kind,
                     .bytes = static_cast<uint64_t>(status.st_size),
                     .last_used = std::max<int64_t>(status.st_atime, status.st_mtime)});
}

bool IsTooOld(const CacheEntry& entry, const CacheLimits& limits, int64_t now) {
  const int64_t age = now - entry.last_used;
  return age > (entry.kind == CacheKind::kTemporary ? kDay : limits.seconds);
}

// The file whose time says when a process pruned a cache.
constexpr char kPruned[] = "/pruned";

// Listing a large cache takes a third of a second, which each short process would spend.
bool WasPrunedLately(const std::string& directory) {
  struct stat status;
  return stat((directory + kPruned).c_str(), &status) == 0 &&
         std::time(nullptr) - status.st_mtime < kPruneInterval;
}

}  // namespace

CacheFolder FolderOf(CacheKind kind) {
  for (const Directory& directory : kDirectories) {
    if (directory.kind == kind) return {directory.path, directory.suffix};
  }
  return {"", ""};
}

std::vector<CacheEntry> ListCache(const std::string& directory) {
  std::vector<CacheEntry> entries;
  if (directory.empty()) return entries;
  for (const Directory& part : kDirectories) {
    const bool is_nested = part.kind == CacheKind::kHeaders;
    std::error_code error;
    fs::recursive_directory_iterator file(fs::path(directory) / part.path, error);
    for (; !error && file != fs::recursive_directory_iterator(); file.increment(error)) {
      if (!is_nested) file.disable_recursion_pending();
      AddEntry(part, file->path(), entries);
    }
  }
  return entries;
}

PrunedCache PruneCache(const std::string& directory, const CacheLimits& limits) {
  std::vector<CacheEntry> entries = ListCache(directory);
  // Of those used in the same second, the largest goes first.
  std::sort(entries.begin(), entries.end(), [](const CacheEntry& a, const CacheEntry& b) {
    return std::pair(a.last_used, b.bytes) < std::pair(b.last_used, a.bytes);
  });
  uint64_t total = 0;
  for (const CacheEntry& entry : entries) total += entry.bytes;
  const int64_t now = std::time(nullptr);
  PrunedCache pruned;
  for (const CacheEntry& entry : entries) {
    const bool is_written = entry.kind == CacheKind::kTemporary && !IsTooOld(entry, limits, now);
    if (is_written || (total <= limits.bytes && !IsTooOld(entry, limits, now))) continue;
    std::error_code error;
    if (!fs::remove(entry.path, error)) continue;  // another process was faster, or it is not ours
    total -= entry.bytes;
    ++pruned.entries;
    pruned.bytes += entry.bytes;
  }
  return pruned;
}

void LimitCache(const std::string& directory, const CacheLimits& limits, uint64_t bytes) {
  ABSL_CONST_INIT static absl::Mutex mutex(absl::kConstInit);
  static auto* const written = new std::map<std::string, uint64_t>;  // guarded by mutex
  {
    absl::MutexLock lock(&mutex);
    const auto [known, is_first] = written->try_emplace(directory, 0);
    known->second += bytes;
    const bool is_due = is_first && !WasPrunedLately(directory);
    if (!is_due && known->second < limits.bytes / 16) return;
    known->second = 0;
  }
  PruneCache(directory, limits);
  std::ofstream(directory + kPruned, std::ios::trunc);  // its time counts
}

void MarkUsed(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0 || std::time(nullptr) - status.st_atime < kHour) return;
  const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_NOW},
                             {.tv_sec = 0, .tv_nsec = UTIME_OMIT}};
  utimensat(AT_FDCWD, path.c_str(), times, 0);  // a cache that cannot be written stays as it is
}

}  // namespace onexpu
