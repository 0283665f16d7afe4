#include "pjrt_core/c_api/extensions/xspace/metadata_plane.h"

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "pjrt_core/c_api/extensions/xspace/fields.h"
#include "pjrt_core/c_api/extensions/xspace/names.h"
#include "pjrt_core/c_api/wire_format.h"
#include "pjrt_core/runtime/profiler.h"

namespace onexpu::c_api {
namespace {

// The plane that has the programs' HLO.
constexpr char kMetadataPlane[] = "/host:metadata";
// xla.HloModuleProtoWithConfig and xla.HloProto have the module in the same field.
constexpr uint32_t kHloModule = 1;

// The programs whose steps are in a profile, each under its id.
std::map<int64_t, const TracedProgram*> ProgramsOf(absl::Span<const DeviceProfile> devices) {
  std::map<int64_t, const TracedProgram*> programs;
  for (const DeviceProfile& device : devices) {
    for (const QueueProfile& queue : device.queues) {
      for (const TimedCommand& command : queue.commands) {
        const TracedProgram* const program = command.label.run.program.get();
        if (program != nullptr) programs.try_emplace(program->id, program);
      }
    }
  }
  return programs;
}

// A serialized xla.HloProto; empty for a program without HLO.
std::string HloProtoOf(const TracedProgram& program) {
  const std::string with_config = program.hlo();
  std::string proto;
  for (FieldReader reader(with_config, "xla.HloModuleProtoWithConfig"); !reader.done();) {
    const absl::StatusOr<Field> field = reader.Next();
    if (!field.ok()) return "";
    if (field->number == kHloModule) AppendBytes(proto, kHloModule, field->bytes);
  }
  return proto;
}

}  // namespace

std::string SerializeMetadataPlane(absl::Span<const DeviceProfile> devices) {
  const std::map<int64_t, const TracedProgram*> programs = ProgramsOf(devices);
  if (programs.empty()) return "";
  Names stats;
  std::string plane;
  AppendBytes(plane, xplane::kName, kMetadataPlane);
  for (const auto& [id, program] : programs) {
    const std::string proto = HloProtoOf(*program);
    if (proto.empty()) continue;
    std::string stat;
    AppendInteger(stat, xstat::kMetadataId, static_cast<uint64_t>(stats.Id("Hlo Proto")));
    AppendBytes(stat, xstat::kMessage, proto);
    std::string event;
    AppendInteger(event, metadata::kId, static_cast<uint64_t>(id));
    AppendBytes(event, metadata::kName, absl::StrCat(program->name, "(", id, ")"));
    AppendBytes(event, metadata::kStats, stat);
    std::string entry;
    AppendInteger(entry, map_entry::kKey, static_cast<uint64_t>(id));
    AppendBytes(entry, map_entry::kValue, event);
    AppendBytes(plane, xplane::kEventMetadata, entry);
  }
  stats.AppendTo(plane, xplane::kStatMetadata);
  return plane;
}

}  // namespace onexpu::c_api
