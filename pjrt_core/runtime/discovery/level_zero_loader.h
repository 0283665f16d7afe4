// The Level Zero loader of the system, and which of SYCL's two adapters work with it.
//
// The adapters call functions of the loader without checking that it has them, so an older loader
// aborts the process: in the first query for devices (1.8), or at the first launch through the
// second adapter (1.20). SYCL must not start before `PrepareLevelZero` has kept them apart.
#ifndef PJRT_CORE_RUNTIME_DISCOVERY_LEVEL_ZERO_LOADER_H_
#define PJRT_CORE_RUNTIME_DISCOVERY_LEVEL_ZERO_LOADER_H_

#include <string>

namespace onexpu {

struct LevelZeroLoader {
  std::string path;     // Of libze_loader.so.1; empty if it is not installed.
  std::string version;  // From the name of its file: "1.20.2", or empty.
  // Adapter v1 serves dg2, mtl and pvc by default, v2 newer GPUs.
  bool supports_adapter_v1 = false;
  bool supports_adapter_v2 = false;

  // "libze_loader 1.20.2 (/usr/lib/x86_64-linux-gnu/libze_loader.so.1.20.2)".
  std::string Describe() const;
};

// Opens the loader and looks functions up; initialises nothing.
LevelZeroLoader FindLevelZeroLoader();

// Keeps SYCL from an adapter that the loader does not support, through SYCL's own environment
// variables: adapter v2 is replaced by v1, and without either Level Zero is left out. Returns a
// sentence about it for the user, or an empty string. The first call of the process counts. Not thread-safe, like setenv.
const std::string& PrepareLevelZero(const LevelZeroLoader& loader);

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_DISCOVERY_LEVEL_ZERO_LOADER_H_
