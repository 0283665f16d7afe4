// SPIR-V of SYCL sources on disk. Thread-safe, and safe between processes
// (pjrt_core/disk_cache/entry_files.h).
#ifndef CUSTOM_KERNELS_SPIRV_CACHE_H_
#define CUSTOM_KERNELS_SPIRV_CACHE_H_

#include <optional>
#include <string>

#include "custom_kernels/spirv_binary.h"
#include "pjrt_core/disk_cache/entry_files.h"

namespace onexpu {

class SpirvCache {
 public:
  // An empty cache directory means no cache.
  explicit SpirvCache(const std::string& directory);

  std::optional<SpirvBinary> Read(const std::string& key) const;
  // What cannot be written is not cached: no error.
  void Write(const std::string& key, const SpirvBinary& binary) const;

 private:
  EntryFiles files_;
};

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_SPIRV_CACHE_H_
