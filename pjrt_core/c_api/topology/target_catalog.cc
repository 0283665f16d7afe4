#include "pjrt_core/c_api/topology/target_catalog.h"

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "pjrt_core/program/program_generated.h"
#include "pjrt_core/target/known_targets.h"

namespace onexpu::c_api {
namespace {

std::vector<uint8_t> Describe(const KnownTarget& entry) {
  program::TargetDescriptionT target;
  target.name = std::string(entry.name);
  target.device_kind = entry.is_gpu() ? program::DeviceKind::Gpu : program::DeviceKind::Cpu;
  target.schedules = entry.is_gpu() ? program::ScheduleSet::Gpu : program::ScheduleSet::Cpu;
  target.compute_units = entry.compute_units;
  target.max_work_group_size = entry.max_work_group_size;
  target.local_memory_bytes = entry.local_memory_bytes;
  target.sub_group_sizes = entry.sub_group_sizes;
  // A device that emulates fp64 may have it switched off.
  target.has_fp64 = entry.fp64 == Fp64::kNative;
  target.has_fp16 = entry.is_gpu();
  target.has_bf16 = entry.has_bf16;
  target.has_s8 = entry.is_gpu();
  target.has_int64_atomics = true;
  target.max_allocation_bytes = entry.max_allocation_bytes;
  if (entry.is_gpu()) {
    target.spirv_extensions = {"SPV_KHR_bit_instructions", "SPV_EXT_shader_atomic_float_add",
                               "SPV_EXT_shader_atomic_float_min_max", "SPV_INTEL_subgroups"};
  }
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(program::TargetDescription::Pack(builder, &target));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

}  // namespace

absl::StatusOr<CatalogTarget> FindTarget(absl::string_view name) {
  // A message has to be text, whatever the name is.
  const std::string shown = absl::CHexEscape(name);
  absl::string_view rest = absl::StripPrefix(name, "xpu:");
  CatalogTarget result;
  const size_t colon = rest.find(':');
  if (colon != absl::string_view::npos) {
    if (!absl::SimpleAtoi(rest.substr(colon + 1), &result.num_devices) || result.num_devices < 1 ||
        result.num_devices > kMaxCatalogDevices) {
      return absl::InvalidArgumentError(
          absl::StrCat("onexpu: '", shown, "' does not end in a number of devices"));
    }
    rest = rest.substr(0, colon);
  }
  std::string names;
  for (const KnownTarget& entry : KnownTargets()) {
    if (entry.name == std::string_view(rest.data(), rest.size())) {
      result.kind = std::string(entry.kind);
      result.description = Describe(entry);
      return result;
    }
    absl::StrAppend(&names, names.empty() ? "" : ", ", std::string(entry.name));
  }
  return absl::NotFoundError(absl::StrCat("onexpu: no topology is named '", shown,
                                          "'; there are xpu (this machine), ", names));
}

bool IsTargetDescription(absl::Span<const uint8_t> bytes) {
  flatbuffers::Verifier verifier(bytes.data(), bytes.size());
  return verifier.VerifyBuffer<program::TargetDescription>(nullptr);
}

}  // namespace onexpu::c_api
