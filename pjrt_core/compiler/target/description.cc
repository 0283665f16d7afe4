#include "pjrt_core/compiler/target/description.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "flatbuffers/flatbuffers.h"

namespace onexpu::compiler {
namespace {

// No device comes near.
constexpr uint32_t kMaxCount = 1 << 20;
constexpr uint64_t kMaxLocalMemoryBytes = uint64_t{1} << 30;

}  // namespace

absl::StatusOr<const program::TargetDescription*> ParseTarget(absl::string_view bytes) {
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  flatbuffers::Verifier verifier(data, bytes.size());
  if (!verifier.VerifyBuffer<program::TargetDescription>(nullptr)) {
    return absl::InvalidArgumentError("onexpu: the compile target is no TargetDescription");
  }
  const auto* target = flatbuffers::GetRoot<program::TargetDescription>(data);
  if (target->device_kind() > program::DeviceKind::MAX ||
      target->schedules() > program::ScheduleSet::MAX) {
    return absl::InvalidArgumentError("onexpu: the compile target is of an unknown kind");
  }
  // What schedules divide by and multiply with. Zero, in a single field, is one that is absent.
  bool is_sound = target->compute_units() <= kMaxCount &&
                  target->max_work_group_size() <= kMaxCount &&
                  target->local_memory_bytes() <= kMaxLocalMemoryBytes;
  if (target->sub_group_sizes() != nullptr) {
    for (const uint32_t size : *target->sub_group_sizes()) {
      is_sound = is_sound && size > 0 && size <= kMaxCount && (size & (size - 1)) == 0;
    }
  }
  if (!is_sound) {
    return absl::InvalidArgumentError("onexpu: the compile target has sizes that no device has");
  }
  return target;
}

Target ToTarget(const program::TargetDescription& description) {
  Target target;
  if (description.name() != nullptr) target.name = description.name()->str();
  target.device = description.device_kind() == program::DeviceKind::Gpu ? &GpuDevicePolicy()
                                                                        : &CpuDevicePolicy();
  target.schedules = description.schedules() == program::ScheduleSet::Gpu ? &GpuSchedulePolicy()
                                                                          : &CpuSchedulePolicy();
  // Zero is what an absent field reads as.
  if (description.compute_units() != 0) target.compute_units = description.compute_units();
  if (description.max_work_group_size() != 0) {
    target.max_work_group_size = description.max_work_group_size();
  }
  if (description.local_memory_bytes() != 0) {
    target.local_memory_bytes = description.local_memory_bytes();
  }
  if (description.sub_group_sizes() != nullptr) {
    target.sub_group_sizes.assign(description.sub_group_sizes()->begin(),
                                  description.sub_group_sizes()->end());
  }
  target.has_fp64 = description.has_fp64();
  target.has_fp16 = description.has_fp16();
  target.has_bf16 = description.has_bf16();
  target.has_s8 = description.has_s8();
  target.has_int64_atomics = description.has_int64_atomics();
  target.max_allocation_bytes = description.max_allocation_bytes();
  if (description.spirv_extensions() != nullptr) {
    for (const auto* extension : *description.spirv_extensions()) {
      target.spirv_extensions.push_back(extension->str());
    }
  }
  return target;
}

}  // namespace onexpu::compiler
