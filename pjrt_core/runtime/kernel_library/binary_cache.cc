#include "pjrt_core/runtime/kernel_library/binary_cache.h"

#include <utility>

namespace onexpu {
namespace {

EntryKey KeyOf(const std::string& device_key, absl::Span<const uint8_t> spirv) {
  return {
      absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(device_key.data()), device_key.size()),
      spirv};
}

}  // namespace

BinaryCache::BinaryCache(const std::string& directory, std::string device_key,
                         const CacheLimits& limits)
    : files_(directory, CacheKind::kBinary),
      root_(directory),
      device_key_(std::move(device_key)),
      limits_(limits) {}

std::string BinaryCache::PathOf(absl::Span<const uint8_t> spirv) const {
  return files_.PathOf(KeyOf(device_key_, spirv));
}

std::optional<std::vector<uint8_t>> BinaryCache::Find(absl::Span<const uint8_t> spirv) const {
  return files_.Find(KeyOf(device_key_, spirv));
}

void BinaryCache::Store(absl::Span<const uint8_t> spirv, absl::Span<const uint8_t> binary) const {
  const uint64_t bytes = files_.Store(KeyOf(device_key_, spirv), binary);
  if (bytes != 0) LimitCache(root_, limits_, bytes);
}

}  // namespace onexpu
