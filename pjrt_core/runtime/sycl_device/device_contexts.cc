#include "pjrt_core/runtime/sycl_device/device_contexts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>

#include "absl/algorithm/container.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/device/library_errors.h"
#include "pjrt_core/runtime/sycl_device/peer_check.h"

namespace onexpu {
namespace {

using Group = std::vector<size_t>;  // indices of devices that share a context

std::vector<sycl::device> DevicesOf(const Group& group, absl::Span<const sycl::device> devices) {
  std::vector<sycl::device> result;
  for (const size_t index : group) {
    if (!absl::c_linear_search(result, devices[index])) result.push_back(devices[index]);
  }
  return result;
}

// Other SYCL code of the process (dpctl, a library of the user's) uses the platform's default
// context unless it is told otherwise. If that context spans the same devices, both sides can use
// one memory.
sycl::context ContextFor(const std::vector<sycl::device>& devices) {
  const sycl::context usual = devices.front().get_platform().khr_get_default_context();
  const std::vector<sycl::device> spanned = usual.get_devices();
  const bool is_same =
      spanned.size() == devices.size() && absl::c_all_of(devices, [&](const sycl::device& device) {
        return absl::c_linear_search(spanned, device);
      });
  return is_same ? usual : sycl::context(devices);
}

std::vector<Group> GroupByRoot(absl::Span<const sycl::device> devices) {
  std::vector<Group> groups;
  std::vector<sycl::device> roots;
  for (size_t i = 0; i < devices.size(); ++i) {
    const sycl::device root = RootDevice(devices[i]);
    const size_t group = absl::c_find(roots, root) - roots.begin();
    if (group == roots.size()) {
      roots.push_back(root);
      groups.emplace_back();
    }
    groups[group].push_back(i);
  }
  return groups;
}

bool CopyToEachOther(const std::vector<std::vector<bool>>& copies_from, const Group& one,
                     const Group& other) {
  return absl::c_all_of(one, [&](size_t i) {
    return absl::c_all_of(other, [&](size_t j) { return copies_from[i][j] && copies_from[j][i]; });
  });
}

}  // namespace

sycl::device RootDevice(sycl::device device) {
  // `parent_device` throws for a root device.
  while (device.get_info<sycl::info::device::partition_type_property>() !=
         sycl::info::partition_property::no_partition) {
    device = device.get_info<sycl::info::device::parent_device>();
  }
  return device;
}

absl::StatusOr<DeviceContexts> MakeDeviceContexts(absl::Span<const sycl::device> devices,
                                                  bool may_copy_directly) {
  const size_t count = devices.size();
  std::vector<std::vector<bool>> copies_from(count, std::vector<bool>(count, false));
  std::optional<DeviceContexts> result;
  ONEXPU_RETURN_IF_ERROR(CatchLibraryErrors([&] {
    std::vector<Group> groups = GroupByRoot(devices);
    for (size_t i = 0; may_copy_directly && i < count; ++i) {
      for (size_t j = i + 1; j < count; ++j) {
        // The CPU device can be there several times.
        copies_from[i][j] = copies_from[j][i] =
            devices[i] == devices[j] || CopiesArrive(devices[i], devices[j]);
      }
    }
    // A group joins the first one whose devices all exchange copies with all of its own.
    std::vector<Group> merged;
    for (Group& group : groups) {
      const auto joined = absl::c_find_if(
          merged, [&](const Group& known) { return CopyToEachOther(copies_from, known, group); });
      if (joined == merged.end()) {
        merged.push_back(std::move(group));
      } else {
        joined->insert(joined->end(), group.begin(), group.end());
      }
    }
    std::vector<std::optional<sycl::context>> contexts(count);
    std::vector<size_t> group_of(count);
    for (size_t group = 0; group < merged.size(); ++group) {
      const sycl::context context = ContextFor(DevicesOf(merged[group], devices));
      for (const size_t index : merged[group]) {
        contexts[index] = context;
        group_of[index] = group;
      }
    }
    for (size_t i = 0; i < count; ++i) {
      for (size_t j = 0; j < count; ++j) {
        if (group_of[i] != group_of[j]) copies_from[i][j] = false;
      }
    }
    Group all(count);
    std::iota(all.begin(), all.end(), size_t{0});
    const sycl::context staging =
        merged.size() == 1 ? *contexts.front() : sycl::context(DevicesOf(all, devices));
    result.emplace(DeviceContexts{.copies_from = std::move(copies_from), .staging = staging});
    for (std::optional<sycl::context>& context : contexts) {
      result->contexts.push_back(*std::move(context));
    }
    return absl::OkStatus();
  }));
  return *std::move(result);
}

}  // namespace onexpu
