#include "pjrt_core/c_api/extensions/xspace.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "pjrt_core/c_api/wire_format.h"

namespace onexpu::c_api {
namespace {

// The fields of xplane.proto.
namespace xspace {
constexpr uint32_t kPlanes = 1;
constexpr uint32_t kWarnings = 3;
}  // namespace xspace
namespace xplane {
constexpr uint32_t kId = 1;
constexpr uint32_t kName = 2;
constexpr uint32_t kLines = 3;
constexpr uint32_t kEventMetadata = 4;
constexpr uint32_t kStatMetadata = 5;
constexpr uint32_t kStats = 6;
}  // namespace xplane
namespace xline {
constexpr uint32_t kId = 1;
constexpr uint32_t kName = 2;
constexpr uint32_t kTimestampNs = 3;
constexpr uint32_t kEvents = 4;
constexpr uint32_t kDurationPs = 9;
}  // namespace xline
namespace xevent {
constexpr uint32_t kMetadataId = 1;
constexpr uint32_t kOffsetPs = 2;
constexpr uint32_t kDurationPs = 3;
constexpr uint32_t kStats = 4;
}  // namespace xevent
namespace xstat {
constexpr uint32_t kMetadataId = 1;
constexpr uint32_t kInt64 = 4;
constexpr uint32_t kString = 5;
constexpr uint32_t kMessage = 6;
constexpr uint32_t kReference = 7;
}  // namespace xstat
namespace metadata {  // of events and of stats
constexpr uint32_t kId = 1;
constexpr uint32_t kName = 2;
constexpr uint32_t kStats = 5;  // of events
}  // namespace metadata
namespace map_entry {
constexpr uint32_t kKey = 1;
constexpr uint32_t kValue = 2;
}  // namespace map_entry

constexpr int64_t kPicoseconds = 1000;  // in a nanosecond

// Tools that read such spaces find devices, their kernels and the XLA ops by a plane's prefix. They
// use this one for all devices with queues and kernels, regardless of the vendor.
constexpr char kPlanePrefix[] = "/device:GPU:";
// The plane that has the programs' HLO.
constexpr char kMetadataPlane[] = "/host:metadata";
// XLA's profiler merges this plane, which is named after the first plugin that had one, into the
// plane of the host's threads.
constexpr char kPluginHostPlane[] = "/host:TPU-runtime";
// Above the ids of threads, which the lines of that plane have.
constexpr int64_t kMemoryLines = int64_t{1} << 40;
// tsl::profiler::ContextType::kPjrtLibraryCall: what joins commands with the host's call.
constexpr int64_t kLibraryCall = 14;

// Of a library's command.
constexpr char kUnknownWorkItems[] = "grid:0,0,0 block:0,0,0";

// xla.HloModuleProtoWithConfig and xla.HloProto have the module in the same field.
constexpr uint32_t kHloModule = 1;

struct Source {
  absl::string_view place;  // "file:line"
  absl::string_view op;     // as the framework calls it
};

// What a Program knows: "file:line (op)", or one of the two.
Source Split(absl::string_view source) {
  const size_t op = source.rfind(" (");
  if (op != absl::string_view::npos && absl::EndsWith(source, ")")) {
    return {source.substr(0, op), source.substr(op + 2, source.size() - op - 3)};
  }
  const size_t colon = source.rfind(':');
  const bool is_place = colon != absl::string_view::npos && colon + 1 < source.size() &&
                        absl::c_all_of(source.substr(colon + 1), absl::ascii_isdigit);
  return is_place ? Source{source, ""} : Source{"", source};
}

// Names and their ids within a plane.
class Names {
 public:
  int64_t Id(absl::string_view name) {
    const auto [place, is_new] = ids_.try_emplace(name, static_cast<int64_t>(ids_.size()) + 1);
    return place->second;
  }

  // As the entries of the map field `number`.
  void AppendTo(std::string& plane, uint32_t number) const {
    for (const auto& [name, id] : ids_) {
      std::string value;
      AppendInteger(value, metadata::kId, static_cast<uint64_t>(id));
      AppendBytes(value, metadata::kName, name);
      std::string entry;
      AppendInteger(entry, map_entry::kKey, static_cast<uint64_t>(id));
      AppendBytes(entry, map_entry::kValue, value);
      AppendBytes(plane, number, entry);
    }
  }

 private:
  absl::flat_hash_map<std::string, int64_t> ids_;
};

class Plane {
 public:
  explicit Plane(const DeviceProfile& device) {
    AppendInteger(bytes_, xplane::kId, static_cast<uint64_t>(device.id));
    AppendBytes(bytes_, xplane::kName, absl::StrCat(kPlanePrefix, device.id));
    std::string kind;
    AppendInteger(kind, xstat::kMetadataId, static_cast<uint64_t>(stats_.Id("device_type_string")));
    AppendBytes(kind, xstat::kString, device.kind);
    AppendBytes(bytes_, xplane::kStats, kind);
    for (const QueueProfile& queue : device.queues) AddLine(queue);
  }

  std::string Serialize() && {
    events_.AppendTo(bytes_, xplane::kEventMetadata);
    stats_.AppendTo(bytes_, xplane::kStatMetadata);
    return std::move(bytes_);
  }

 private:
  void AddLine(const QueueProfile& queue) {
    if (queue.commands.empty()) return;
    int64_t begin = INT64_MAX;
    int64_t end = 0;
    for (const TimedCommand& command : queue.commands) {
      begin = std::min(begin, command.start);
      end = std::max(end, command.end);
    }
    std::string line;
    AppendInteger(line, xline::kId, static_cast<uint64_t>(num_lines_));
    AppendBytes(line, xline::kName, absl::StrCat("Stream #", num_lines_, " (", queue.name, ")"));
    AppendInteger(line, xline::kTimestampNs, static_cast<uint64_t>(begin));
    AppendInteger(line, xline::kDurationPs, static_cast<uint64_t>((end - begin) * kPicoseconds));
    for (const TimedCommand& command : queue.commands) AddEvent(command, begin, line);
    AppendBytes(bytes_, xplane::kLines, line);
    ++num_lines_;
  }

  void AddEvent(const TimedCommand& command, int64_t begin, std::string& line) {
    const CommandLabel& label = command.label;
    std::string event;
    AppendInteger(event, xevent::kMetadataId, static_cast<uint64_t>(events_.Id(label.name)));
    AppendInteger(event, xevent::kOffsetPs,
                  static_cast<uint64_t>((command.start - begin) * kPicoseconds));
    AppendInteger(event, xevent::kDurationPs,
                  static_cast<uint64_t>((command.end - command.start) * kPicoseconds));
    // The names are those of tsl/profiler/utils/xplane_schema.cc where there is one.
    AddName("kind", label.kind, event);
    const Source source = Split(label.source);
    AddName("source", source.place, event);
    AddName("tf_op", source.op, event);
    if (const TracedProgram* const program = label.run.program.get(); program != nullptr) {
      AddName("hlo_module", program->name, event);
      AddName("hlo_op", label.instruction, event);
      AddNumber("program_id", program->id, event);
      AddNumber("run_id", label.run.run_id, event);
    }
    if (label.run.call_id != 0) {
      AddNumber("_ct", kLibraryCall, event);
      AddNumber("_c", label.run.call_id, event);
      AddNumber("correlation_id", label.run.call_id, event);  // counts into the call's step
    }
    // Tools count the commands that have it as kernels.
    if (label.kind != "copy") {
      AddName("kernel_details", label.work_items.empty() ? kUnknownWorkItems : label.work_items,
              event);
    }
    if (label.bytes > 0) AddNumber("bytes_transferred", label.bytes, event);
    AppendBytes(line, xline::kEvents, event);
  }

  // A value that many events have: by reference.
  void AddName(absl::string_view stat, absl::string_view value, std::string& event) {
    if (value.empty()) return;
    std::string bytes;
    AppendInteger(bytes, xstat::kMetadataId, static_cast<uint64_t>(stats_.Id(stat)));
    AppendInteger(bytes, xstat::kReference, static_cast<uint64_t>(stats_.Id(value)));
    AppendBytes(event, xevent::kStats, bytes);
  }

  void AddNumber(absl::string_view stat, int64_t value, std::string& event) {
    std::string bytes;
    AppendInteger(bytes, xstat::kMetadataId, static_cast<uint64_t>(stats_.Id(stat)));
    AppendInteger(bytes, xstat::kInt64, static_cast<uint64_t>(value));
    AppendBytes(event, xevent::kStats, bytes);
  }

  std::string bytes_;
  Names events_;
  Names stats_;
  int num_lines_ = 0;
};

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

// The allocations of a device, as events of the host: tools look for them among those.
std::string MemoryLine(const DeviceProfile& device, Names& events, Names& stats) {
  const int64_t begin = device.memory.front().time;
  std::string line;
  AppendInteger(line, xline::kId, static_cast<uint64_t>(kMemoryLines + device.id));
  AppendBytes(line, xline::kName, absl::StrCat("memory of xpu:", device.id));
  AppendInteger(line, xline::kTimestampNs, static_cast<uint64_t>(begin));
  for (const MemoryEvent& memory : device.memory) {
    std::string event;
    const char* name = memory.is_allocation ? "MemoryAllocation" : "MemoryDeallocation";
    AppendInteger(event, xevent::kMetadataId, static_cast<uint64_t>(events.Id(name)));
    AppendInteger(event, xevent::kOffsetPs,
                  static_cast<uint64_t>((memory.time - begin) * kPicoseconds));
    const auto add = [&](absl::string_view stat, int64_t value) {
      std::string bytes;
      AppendInteger(bytes, xstat::kMetadataId, static_cast<uint64_t>(stats.Id(stat)));
      AppendInteger(bytes, xstat::kInt64, static_cast<uint64_t>(value));
      AppendBytes(event, xevent::kStats, bytes);
    };
    std::string allocator;
    AppendInteger(allocator, xstat::kMetadataId, static_cast<uint64_t>(stats.Id("allocator_name")));
    AppendBytes(allocator, xstat::kString, absl::StrCat("xpu:", device.id));
    AppendBytes(event, xevent::kStats, allocator);
    add("bytes_reserved", 0);
    add("bytes_allocated", memory.bytes_in_use);
    add("bytes_available", memory.bytes_limit - memory.bytes_in_use);
    add("peak_bytes_in_use", memory.peak_bytes_in_use);
    add("requested_bytes", memory.bytes);
    add("allocation_bytes", memory.bytes);
    add("addr", static_cast<int64_t>(reinterpret_cast<uintptr_t>(memory.address)));
    AppendBytes(line, xline::kEvents, event);
  }
  return line;
}

std::string MemoryPlane(absl::Span<const DeviceProfile> devices) {
  Names events;
  Names stats;
  std::string plane;
  AppendBytes(plane, xplane::kName, kPluginHostPlane);
  for (const DeviceProfile& device : devices) {
    if (device.memory.empty()) continue;
    AppendBytes(plane, xplane::kLines, MemoryLine(device, events, stats));
  }
  events.AppendTo(plane, xplane::kEventMetadata);
  stats.AppendTo(plane, xplane::kStatMetadata);
  return plane;
}

std::string MetadataPlane(const std::map<int64_t, const TracedProgram*>& programs) {
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

}  // namespace

std::string SerializeXSpace(absl::Span<const DeviceProfile> devices) {
  std::string space;
  const std::map<int64_t, const TracedProgram*> programs = ProgramsOf(devices);
  if (!programs.empty()) AppendBytes(space, xspace::kPlanes, MetadataPlane(programs));
  AppendBytes(space, xspace::kPlanes, MemoryPlane(devices));
  for (const DeviceProfile& device : devices) {
    AppendBytes(space, xspace::kPlanes, Plane(device).Serialize());
    for (const QueueProfile& queue : device.queues) {
      if (queue.dropped == 0) continue;
      AppendBytes(space, xspace::kWarnings,
                  absl::StrCat("onexpu: the trace of xpu:", device.id, " (", queue.name,
                               ") was full: ", queue.dropped,
                               " commands are missing; profile fewer steps"));
    }
  }
  return space;
}

}  // namespace onexpu::c_api
