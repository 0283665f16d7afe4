#include "tf_plugin/device/visible_devices.h"

#include <iterator>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "tf_plugin/core/core_api.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::ConfigProto;

// tf.config always writes the pluggable options, lists every visible device there, and counts the
// devices of each visible type. With no visible device the list is empty, as it is in the options
// of a session that selects nothing; then only the counts tell the two apart.
bool HidesAll(const ConfigProto& config) {
  return config.has_pluggable_device_options() &&
         config.pluggable_device_options().visible_device_list().empty() &&
         config.device_count().contains("CPU") && !config.device_count().contains(kDeviceType);
}

// `list`: "XPU:0,XPU:2", possibly with devices of other types.
absl::StatusOr<absl::btree_set<int>> ListedDevices(absl::string_view list, int device_count) {
  const std::string prefix = absl::StrCat(kDeviceType, ":");
  absl::btree_set<int> devices;
  for (absl::string_view name : absl::StrSplit(list, ',')) {
    if (!absl::ConsumePrefix(&name, prefix)) continue;
    int ordinal = -1;
    if (!absl::SimpleAtoi(name, &ordinal) || ordinal < 0 || ordinal >= device_count) {
      return absl::InvalidArgumentError(
          absl::StrCat("onexpu: visible_device_list names an unknown device: ", prefix, name, " (",
                       list, "). This process has ", device_count, " XPU device(s)."));
    }
    devices.insert(ordinal);
  }
  return devices;
}

}  // namespace

absl::StatusOr<absl::btree_set<int>> VisibleDevices(const ConfigProto& config, int device_count) {
  absl::btree_set<int> devices;
  if (HidesAll(config)) return devices;
  const std::string& list = config.pluggable_device_options().visible_device_list();
  if (list.empty()) {
    for (int i = 0; i < device_count; ++i) devices.insert(i);
  } else {
    TF_ASSIGN_OR_RETURN(devices, ListedDevices(list, device_count));
  }
  const auto limit = config.device_count().find(kDeviceType);
  if (limit == config.device_count().end()) return devices;
  while (!devices.empty() && static_cast<int>(devices.size()) > limit->second) {
    devices.erase(std::prev(devices.end()));
  }
  return devices;
}

}  // namespace onexpu::tf_plugin
