// The Level Zero loader of the system, and which of SYCL's two adapters work with it.
//
// The adapters call functions of the loader without checking that it has them, so an older loader
// aborts the process: in the first query for devices (1.8), or at the first launch through the
// second adapter (1.20). Call `PrepareLevelZero` before SYCL starts.
#ifndef PJRT_CORE_RUNTIME_SYCL_DEVICE_DISCOVERY_LEVEL_ZERO_LOADER_H_
#define PJRT_CORE_RUNTIME_SYCL_DEVICE_DISCOVERY_LEVEL_ZERO_LOADER_H_

#include <string>

namespace onexpu {

struct LevelZeroLoader {
  std::string path;     // Of libze_loader.so.1; empty if it is not installed.
  std::string version;  // From the name of its file: "1.20.2", or empty.
  // By default SYCL uses adapter v1 for dg2, pvc, mtl, arl and tgl, and v2 for newer GPUs.
  bool supports_adapter_v1 = false;
  bool supports_adapter_v2 = false;

  // "libze_loader 1.20.2 (/usr/lib/x86_64-linux-gnu/libze_loader.so.1.20.2)".
  std::string Describe() const;
  // Why SYCL cannot use a loader that supports neither adapter, and what to install.
  std::string ExplainTooOld() const;
};

// Opens the loader and looks functions up; initialises nothing.
LevelZeroLoader FindLevelZeroLoader();

// Disables adapters that the loader does not support, through SYCL's own environment variables: v1
// replaces v2, and if neither works, Level Zero is disabled. Returns a sentence about it for the
// user, or an empty string. Later calls return the result of the first. Not thread-safe, because it
// calls setenv.
const std::string& PrepareLevelZero(const LevelZeroLoader& loader);

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_SYCL_DEVICE_DISCOVERY_LEVEL_ZERO_LOADER_H_
