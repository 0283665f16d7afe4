#include "pjrt_core/runtime/sycl_device/discovery/level_zero_loader.h"

#include <dlfcn.h>
#include <link.h>

#include <climits>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace onexpu {
namespace {

constexpr char kLibrary[] = "libze_loader.so.1";
// Loaders with this function hand out the handles that adapter v1 expects. With a loader of
// Debian 12 (1.8) its query for devices jumps to an invalid address.
constexpr char kNeededByV1[] = "zeInitDrivers";
// What adapter v2 launches kernels with. Debian 13's loader (1.20) lacks it.
constexpr char kNeededByV2[] = "zeCommandListAppendLaunchKernelWithArguments";

constexpr char kSelector[] = "ONEAPI_DEVICE_SELECTOR";
constexpr char kNoLevelZero[] = "!level_zero:*";
constexpr char kUseV2[] = "SYCL_UR_USE_LEVEL_ZERO_V2";

// The file of an open library, without symbolic links. The address of one of its functions would
// not do: a preloaded library may replace the function.
std::string FileOf(void* library) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return "";
  char real[PATH_MAX];
  return realpath(map->l_name, real) == nullptr ? map->l_name : real;
}

std::string VersionOf(const std::string& path) {
  constexpr char kBefore[] = ".so.";
  const size_t at = path.rfind(kBefore);
  return at == std::string::npos ? "" : path.substr(at + sizeof kBefore - 1);
}

// Changes the environment, so a second call would return another result.
std::string Prepare(const LevelZeroLoader& loader) {
  // Without a loader the adapters find no device by themselves.
  if (loader.path.empty() || loader.supports_adapter_v2) return "";
  if (loader.supports_adapter_v1) {
    const char* set = std::getenv(kUseV2);
    const bool was_asked_for = set != nullptr && absl::string_view(set) == "1";
    setenv(kUseV2, "0", /*overwrite=*/1);
    if (!was_asked_for) return "";
    return absl::StrCat(kUseV2, "=1 is ignored: ", loader.Describe(), " lacks ", kNeededByV2,
                        ". Install a newer libze1 (1.32 is tested), or unset the variable.");
  }
  const char* set = std::getenv(kSelector);
  const std::string selector = set == nullptr ? "" : set;
  // A parent process may have set it.
  if (!absl::StrContains(selector, kNoLevelZero)) {
    setenv(kSelector, absl::StrCat(selector, selector.empty() ? "" : ";", kNoLevelZero).c_str(),
           /*overwrite=*/1);
  }
  return absl::StrCat("GPUs are not used: ", loader.ExplainTooOld());
}

}  // namespace

std::string LevelZeroLoader::Describe() const {
  if (path.empty()) return absl::StrCat(kLibrary, " (not installed)");
  return absl::StrCat("libze_loader ", version, " (", path, ")");
}

std::string LevelZeroLoader::ExplainTooOld() const {
  return absl::StrCat(Describe(),
                      " is too old for SYCL 2026.1, which would crash. Install libze1 1.20 or "
                      "newer.");
}

LevelZeroLoader FindLevelZeroLoader() {
  LevelZeroLoader found;
  // Stays open: an adapter opens it next.
  void* const library = dlopen(kLibrary, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return found;
  if (dlsym(library, "zeInit") == nullptr) return found;
  found.path = FileOf(library);
  found.version = VersionOf(found.path);
  found.supports_adapter_v1 = dlsym(library, kNeededByV1) != nullptr;
  found.supports_adapter_v2 = found.supports_adapter_v1 && dlsym(library, kNeededByV2) != nullptr;
  return found;
}

const std::string& PrepareLevelZero(const LevelZeroLoader& loader) {
  static const std::string* const note = new std::string(Prepare(loader));
  return *note;
}

}  // namespace onexpu
