#include "pjrt_core/c_api/extensions/xspace/memory_plane.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "pjrt_core/c_api/extensions/xspace/fields.h"
#include "pjrt_core/c_api/extensions/xspace/names.h"
#include "pjrt_core/c_api/wire_format.h"
#include "pjrt_core/runtime/profiler.h"

namespace onexpu::c_api {
namespace {

// XLA's profiler merges this plane, which is named after the first plugin that had one, into the
// plane of the host's threads.
constexpr char kPluginHostPlane[] = "/host:TPU-runtime";
// Above the ids of threads, which the lines of that plane have.
constexpr int64_t kMemoryLines = int64_t{1} << 40;

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

}  // namespace

std::string SerializeMemoryPlane(absl::Span<const DeviceProfile> devices) {
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

}  // namespace onexpu::c_api
