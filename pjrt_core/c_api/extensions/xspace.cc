#include "pjrt_core/c_api/extensions/xspace.h"

#include <algorithm>
#include <cstdint>
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
constexpr uint32_t kReference = 7;
}  // namespace xstat
namespace metadata {  // of events and of stats
constexpr uint32_t kId = 1;
constexpr uint32_t kName = 2;
}  // namespace metadata
namespace map_entry {
constexpr uint32_t kKey = 1;
constexpr uint32_t kValue = 2;
}  // namespace map_entry

constexpr int64_t kPicoseconds = 1000;  // in a nanosecond

// Tools that read such spaces find devices, their kernels and the XLA ops by a plane's prefix. They
// use this one for all devices with queues and kernels, regardless of the vendor.
constexpr char kPlanePrefix[] = "/device:GPU:";

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
    if (!label.program.empty()) {
      AddName("hlo_module", label.program, event);
      AddName("hlo_op", label.instruction, event);
      AddNumber("run_id", label.run_id, event);
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

}  // namespace

std::string SerializeXSpace(absl::Span<const DeviceProfile> devices) {
  std::string space;
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
