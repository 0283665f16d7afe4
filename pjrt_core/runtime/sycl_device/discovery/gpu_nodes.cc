#include "pjrt_core/runtime/sycl_device/discovery/gpu_nodes.h"

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace onexpu {
namespace {

constexpr char kIntel[] = "0x8086";
// Of Level Zero's GPU driver, by distribution.
constexpr char kDriverPackages[] =
    "libze-intel-gpu1 (Debian 13, Ubuntu 24.10 and newer), intel-level-zero-gpu (Ubuntu 22.04 and "
    "24.04, from Intel's repository), or intel-compute-runtime with intel-level-zero (Fedora)";

std::string GroupOf(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return "";
  char buffer[4096];
  struct group entry;
  struct group* found = nullptr;
  if (getgrgid_r(status.st_gid, &entry, buffer, sizeof buffer, &found) != 0 || found == nullptr) {
    return absl::StrCat(status.st_gid);
  }
  return found->gr_name;
}

GpuNode Describe(const std::string& path) {
  return {path, GroupOf(path), access(path.c_str(), R_OK | W_OK) == 0};
}

bool IsIntel(const std::string& system_root, const std::string& name) {
  std::ifstream file(absl::StrCat(system_root, "/class/drm/", name, "/device/vendor"));
  std::string vendor;
  return std::getline(file, vendor) && vendor == kIntel;
}

}  // namespace

std::vector<GpuNode> FindGpuNodes(const std::string& device_root, const std::string& system_root) {
  std::vector<GpuNode> nodes;
  std::error_code error;  // no such directory: no nodes
  for (const auto& entry :
       std::filesystem::directory_iterator(absl::StrCat(device_root, "/dri"), error)) {
    const std::string name = entry.path().filename();
    if (absl::StartsWith(name, "renderD") && IsIntel(system_root, name)) {
      nodes.push_back(Describe(entry.path()));
    }
  }
  const std::string paravirtual = absl::StrCat(device_root, "/dxg");
  if (access(paravirtual.c_str(), F_OK) == 0) nodes.push_back(Describe(paravirtual));
  std::sort(nodes.begin(), nodes.end(),
            [](const GpuNode& a, const GpuNode& b) { return a.path < b.path; });
  return nodes;
}

std::string ExplainUnusedGpus(const std::vector<GpuNode>& nodes, const LevelZeroLoader& loader,
                              const std::string& driver_error) {
  if (nodes.empty()) return "";
  const auto closed = std::find_if(nodes.begin(), nodes.end(),
                                   [](const GpuNode& node) { return !node.is_accessible; });
  if (closed != nodes.end()) {
    return absl::StrCat("no permission to open the GPU ", closed->path,
                        ": add the user to the group '", closed->group, "' (sudo usermod -aG ",
                        closed->group, " $USER, then log in again), or pass the group to the ",
                        "container (docker run --device /dev/dri --group-add ...).");
  }
  const std::string there = absl::StrCat("the GPU ", nodes.front().path, " is not used: ");
  if (loader.path.empty()) {
    return absl::StrCat(there, "the Level Zero loader (libze_loader.so.1) is not installed. ",
                        "Install libze1 (Fedora: level-zero), and the driver: ", kDriverPackages,
                        ".");
  }
  if (!loader.supports_adapter_v1) return absl::StrCat(there, loader.ExplainTooOld());
  return absl::StrCat(there, "Level Zero's driver found no device",
                      driver_error.empty() ? "" : absl::StrCat(" (", driver_error, ")"),
                      ". Install or upgrade it: ", kDriverPackages, ".");
}

}  // namespace onexpu
