// The cache of compiled kernels on disk, of the onexpu_launch extension. Any thread.
#ifndef PJRT_CORE_C_API_EXTENSIONS_LAUNCH_CACHE_H_
#define PJRT_CORE_C_API_EXTENSIONS_LAUNCH_CACHE_H_

#include "absl/status/status.h"
#include "pjrt_core/c_api/extensions/launch.h"

namespace onexpu::c_api {

absl::Status ReadCache(OnexpuReadCacheArgs& args);
absl::Status PruneCacheDirectory(OnexpuPruneCacheArgs& args);

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_EXTENSIONS_LAUNCH_CACHE_H_
