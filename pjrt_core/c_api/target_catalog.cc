#include "pjrt_core/c_api/target_catalog.h"

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "pjrt_core/program/program_generated.h"

namespace onexpu::c_api {
namespace {

struct Entry {
  absl::string_view name;
  absl::string_view kind;
  uint32_t compute_units;  // vector engines, or hardware threads
  std::vector<uint32_t> sub_group_sizes;
  bool has_fp64;
  bool has_bf16;
  bool is_gpu = true;
  uint64_t max_allocation_bytes = 0;  // 0: as large as the memory
};

// What the driver reports is a little less.
constexpr uint64_t kFourGib = uint64_t{4} << 30;

// From the vendor's specifications of the largest part of each family. dg2 has no fp64; pvc no
// sub-group of 8. "cpu" is what every CPU device can do: a Program for it runs on any.
const std::vector<Entry>& Catalog() {
  static const auto* const catalog = new std::vector<Entry>{
      {"cpu", "oneAPI CPU device", 8, {4, 8, 16}, true, false, /*is_gpu=*/false},
      {"pvc", "Intel Data Center GPU Max 1550", 1024, {16, 32}, true, true},
      {"dg2", "Intel Arc A770 Graphics", 512, {8, 16, 32}, false, true, true, kFourGib},
      {"bmg", "Intel Arc B580 Graphics", 160, {16, 32}, true, true},
      {"lnl", "Intel Arc 140V Graphics", 64, {16, 32}, true, true},
  };
  return *catalog;
}

std::vector<uint8_t> Describe(const Entry& entry) {
  program::TargetDescriptionT target;
  target.name = std::string(entry.name);
  target.device_kind = entry.is_gpu ? program::DeviceKind::Gpu : program::DeviceKind::Cpu;
  target.schedules = entry.is_gpu ? program::ScheduleSet::Gpu : program::ScheduleSet::Cpu;
  target.compute_units = entry.compute_units;
  target.max_work_group_size = 1024;
  target.local_memory_bytes = (entry.is_gpu ? 64 : 32) << 10;
  target.sub_group_sizes = entry.sub_group_sizes;
  target.has_fp64 = entry.has_fp64;
  target.has_fp16 = entry.is_gpu;
  target.has_bf16 = entry.has_bf16;
  target.has_s8 = entry.is_gpu;
  target.has_int64_atomics = true;
  target.max_allocation_bytes = entry.max_allocation_bytes;
  if (entry.is_gpu) {
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
        result.num_devices > kMostCatalogDevices) {
      return absl::InvalidArgumentError(
          absl::StrCat("onexpu: '", shown, "' does not end in a number of devices"));
    }
    rest = rest.substr(0, colon);
  }
  std::string names;
  for (const Entry& entry : Catalog()) {
    if (entry.name == rest) {
      result.kind = std::string(entry.kind);
      result.description = Describe(entry);
      return result;
    }
    absl::StrAppend(&names, names.empty() ? "" : ", ", entry.name);
  }
  return absl::NotFoundError(absl::StrCat("onexpu: no topology is named '", shown,
                                          "'; there are xpu (this machine), ", names));
}

bool IsTargetDescription(absl::Span<const uint8_t> bytes) {
  flatbuffers::Verifier verifier(bytes.data(), bytes.size());
  return verifier.VerifyBuffer<program::TargetDescription>(nullptr);
}

}  // namespace onexpu::c_api
