#include "pjrt_core/device/device_traits.h"

namespace onexpu {
namespace {

constexpr DeviceTraits kCpu = {
    .kind_prefix = "oneAPI CPU: ",
    .backend = "opencl",
    .uses_host_arrays_in_place = true,
    .has_huge_pages = true,
    .copies_to_peers_through_pinned_memory = true,
    .runs_libraries_in_host_tasks = true,
    .calls_host_functions = true,
    .has_caller_queue = true,
    .commands_per_batch = 8,
    .kernels_limit_work_groups = false,
    .may_hang = false,
};

constexpr DeviceTraits kGpu = {
    .kind_prefix = "",
    .backend = "level_zero",
    .uses_host_arrays_in_place = false,
    .has_huge_pages = false,
    .copies_to_peers_through_pinned_memory = false,
    .runs_libraries_in_host_tasks = false,
    .calls_host_functions = false,
    .has_caller_queue = false,
    .commands_per_batch = 32,
    .kernels_limit_work_groups = true,
    .may_hang = true,
};

}  // namespace

const DeviceTraits& TraitsOf(const sycl::device& device) { return device.is_cpu() ? kCpu : kGpu; }

}  // namespace onexpu
