#include "pjrt_core/c_api/extensions/launch_cache.h"

#include <string>
#include <vector>

#include "pjrt_core/base/environment.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/disk_cache/disk_cache.h"

namespace onexpu::c_api {
namespace {

const char* KindName(CacheKind kind) {
  switch (kind) {
    case CacheKind::kProgram:
      return "programs";
    case CacheKind::kBinary:
      return "native binaries";
    case CacheKind::kSpirv:
      return "SPIR-V of SYCL sources";
    case CacheKind::kHeaders:
      return "precompiled headers";
    case CacheKind::kTemporary:
      return "unfinished files";
  }
  return "";
}

}  // namespace

absl::Status ReadCache(OnexpuReadCacheArgs& args) {
  if (args.on_entries == nullptr) {
    return absl::InvalidArgumentError("onexpu: read_cache: on_entries is null");
  }
  ONEXPU_ASSIGN_OR_RETURN(const CacheLimits limits, CacheLimitsFromEnvironment());
  const std::string directory = CacheDirectory();
  const std::vector<CacheEntry> found = ListCache(directory);
  std::vector<OnexpuCacheEntry> entries;
  for (const CacheEntry& entry : found) {
    entries.push_back({entry.path.c_str(), KindName(entry.kind), entry.bytes, entry.last_used});
  }
  args.on_entries(args.user, directory.c_str(), entries.data(), entries.size());
  args.limit_bytes = limits.bytes;
  args.limit_seconds = limits.seconds;
  return absl::OkStatus();
}

absl::Status PruneCacheDirectory(OnexpuPruneCacheArgs& args) {
  const PrunedCache pruned =
      PruneCache(CacheDirectory(), {.bytes = args.limit_bytes, .seconds = args.limit_seconds});
  args.entries = pruned.entries;
  args.bytes = pruned.bytes;
  return absl::OkStatus();
}

}  // namespace onexpu::c_api
