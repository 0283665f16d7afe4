#include "pjrt_core/c_api/extensions/xspace/device_plane.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/c_api/extensions/xspace/fields.h"
#include "pjrt_core/c_api/extensions/xspace/names.h"
#include "pjrt_core/c_api/wire_format.h"
#include "pjrt_core/runtime/profiler.h"

namespace onexpu::c_api {
namespace {

// Tools that read such spaces find devices, their kernels and the XLA ops by a plane's prefix. They
// use this one for all devices with queues and kernels, regardless of the vendor.
constexpr char kPlanePrefix[] = "/device:GPU:";
// tsl::profiler::ContextType::kPjrtLibraryCall: what joins commands with the host's call.
constexpr int64_t kLibraryCall = 14;
// Of a library's command.
constexpr char kUnknownWorkItems[] = "grid:0,0,0 block:0,0,0";

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

}  // namespace

std::string SerializeDevicePlane(const DeviceProfile& device) { return Plane(device).Serialize(); }

}  // namespace onexpu::c_api
