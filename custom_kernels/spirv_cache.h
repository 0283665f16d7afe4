// Compiled kernels on disk: one file per key, written atomically, verified when read. Thread-safe,
// and safe for processes that share the directory. A damaged or foreign file counts as missing.
#ifndef CUSTOM_KERNELS_SPIRV_CACHE_H_
#define CUSTOM_KERNELS_SPIRV_CACHE_H_

#include <optional>
#include <string>

#include "custom_kernels/spirv_binary.h"

namespace onexpu {

class SpirvCache {
 public:
  // An empty directory means no cache.
  explicit SpirvCache(std::string directory);

  std::optional<SpirvBinary> Read(const std::string& key) const;
  // What cannot be written is not cached: no error.
  void Write(const std::string& key, const SpirvBinary& binary) const;

 private:
  std::string PathOf(const std::string& key) const;

  std::string directory_;
};

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_SPIRV_CACHE_H_
