#include "pjrt_core/runtime/sycl_device/target_description.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/device/library_errors.h"
#include "pjrt_core/target/sycl_target.h"
#include "pjrt_core/thunks/onednn/dnnl_isa.h"

namespace onexpu {
namespace {

std::string TargetName(const sycl::device& device) {
  const KnownTarget* const target = FindKnownTarget(device);
  return target == nullptr ? "gpu" : std::string(target->name);
}

// Every GPU that oneDNN supports has bf16 primitives, and adds s8 products up in 32 bits.
bool HasBf16Primitives(const sycl::device& device) {
  return device.is_gpu() || HasBf16PrimitivesOnCpu();
}
bool HasS8Primitives(const sycl::device& device) {
  return device.is_gpu() || HasExactS8PrimitivesOnCpu();
}

struct ExtensionOf {
  const char* opencl;
  const char* spirv;
};

constexpr ExtensionOf kExtensions[] = {
    {"cl_khr_extended_bit_ops", "SPV_KHR_bit_instructions"},
    {"cl_ext_float_atomics", "SPV_EXT_shader_atomic_float_add"},
    {"cl_ext_float_atomics", "SPV_EXT_shader_atomic_float_min_max"},
    {"cl_intel_subgroups", "SPV_INTEL_subgroups"},
};

std::vector<std::string> SpirvExtensions(const sycl::device& device) {
  std::vector<std::string> extensions;
  if (device.get_backend() == sycl::backend::ext_oneapi_level_zero) {
    // Level Zero does not list them; every driver that builds SPIR-V 1.3 has them.
    for (const ExtensionOf& known : kExtensions) extensions.push_back(known.spirv);
    return extensions;
  }
  const auto listed = device.get_platform().get_info<sycl::info::platform::extensions>();
  for (const ExtensionOf& known : kExtensions) {
    if (std::find(listed.begin(), listed.end(), known.opencl) != listed.end()) {
      extensions.push_back(known.spirv);
    }
  }
  return extensions;
}

}  // namespace

std::optional<size_t> AllocationLimit(const sycl::device& device) {
  if (!device.is_gpu()) return std::nullopt;
  const size_t limit = device.get_info<sycl::info::device::max_mem_alloc_size>();
  if (limit == 0 || limit >= device.get_info<sycl::info::device::global_mem_size>()) {
    return std::nullopt;
  }
  return limit;
}

std::vector<uint8_t> DescribeTarget(const sycl::device& device, ScheduleChoice schedules) {
  program::TargetDescriptionT target;
  target.name = TargetName(device);
  target.device_kind = device.is_gpu() ? program::DeviceKind::Gpu : program::DeviceKind::Cpu;
  const bool gpu_schedules =
      schedules == ScheduleChoice::kAuto ? device.is_gpu() : schedules == ScheduleChoice::kGpu;
  target.schedules = gpu_schedules ? program::ScheduleSet::Gpu : program::ScheduleSet::Cpu;
  target.compute_units = device.get_info<sycl::info::device::max_compute_units>();
  target.max_work_group_size =
      static_cast<uint32_t>(device.get_info<sycl::info::device::max_work_group_size>());
  target.local_memory_bytes = device.get_info<sycl::info::device::local_mem_size>();
  for (size_t size : device.get_info<sycl::info::device::sub_group_sizes>()) {
    target.sub_group_sizes.push_back(static_cast<uint32_t>(size));
  }
  target.has_fp64 = HasFp64(device);
  target.has_fp16 = device.has(sycl::aspect::fp16);
  target.has_bf16 = HasBf16Primitives(device);
  target.has_s8 = HasS8Primitives(device);
  target.has_int64_atomics = device.has(sycl::aspect::atomic64);
  target.spirv_extensions = SpirvExtensions(device);
  target.max_allocation_bytes = AllocationLimit(device).value_or(0);

  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(program::TargetDescription::Pack(builder, &target));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

absl::Status CheckTarget(const program::TargetDescription& wanted,
                         const program::TargetDescription& device) {
  auto text = [](const flatbuffers::String* string) -> absl::string_view {
    return string == nullptr ? absl::string_view()
                             : absl::string_view(string->c_str(), string->size());
  };
  auto mismatch = [&](absl::string_view what) {
    return absl::FailedPreconditionError(
        absl::StrCat("onexpu: the Program was compiled for target '", text(wanted.name()),
                     "' and cannot run on this device ('", text(device.name()), "'): ", what));
  };
  if (wanted.device_kind() != device.device_kind()) return mismatch("another kind of device");
  if (wanted.has_fp64() && !device.has_fp64()) return mismatch("the device has no fp64");
  if (wanted.has_fp16() && !device.has_fp16()) return mismatch("the device has no fp16");
  if (wanted.has_bf16() && !device.has_bf16()) return mismatch("the device has no bf16 primitives");
  if (wanted.has_s8() && !device.has_s8()) return mismatch("the device has no s8 primitives");
  if (wanted.max_work_group_size() > device.max_work_group_size()) {
    return mismatch("work-groups of up to " + std::to_string(wanted.max_work_group_size()) +
                    " work-items are more than the device's " +
                    std::to_string(device.max_work_group_size()));
  }
  if (wanted.local_memory_bytes() > device.local_memory_bytes()) {
    return mismatch("it may use more local memory than the device has");
  }
  if (wanted.sub_group_sizes() != nullptr && device.sub_group_sizes() != nullptr) {
    for (uint32_t size : *wanted.sub_group_sizes()) {
      const auto& sizes = *device.sub_group_sizes();
      if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) {
        return mismatch("the device has no sub-groups of " + std::to_string(size));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace onexpu
