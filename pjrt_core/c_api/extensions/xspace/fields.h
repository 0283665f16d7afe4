// The field numbers that the planes use of tensorflow.profiler.XSpace
// (tsl/profiler/protobuf/xplane.proto).
#ifndef PJRT_CORE_C_API_EXTENSIONS_XSPACE_FIELDS_H_
#define PJRT_CORE_C_API_EXTENSIONS_XSPACE_FIELDS_H_

#include <cstdint>

namespace onexpu::c_api {

namespace xspace {
inline constexpr uint32_t kPlanes = 1;
inline constexpr uint32_t kWarnings = 3;
}  // namespace xspace
namespace xplane {
inline constexpr uint32_t kId = 1;
inline constexpr uint32_t kName = 2;
inline constexpr uint32_t kLines = 3;
inline constexpr uint32_t kEventMetadata = 4;
inline constexpr uint32_t kStatMetadata = 5;
inline constexpr uint32_t kStats = 6;
}  // namespace xplane
namespace xline {
inline constexpr uint32_t kId = 1;
inline constexpr uint32_t kName = 2;
inline constexpr uint32_t kTimestampNs = 3;
inline constexpr uint32_t kEvents = 4;
inline constexpr uint32_t kDurationPs = 9;
}  // namespace xline
namespace xevent {
inline constexpr uint32_t kMetadataId = 1;
inline constexpr uint32_t kOffsetPs = 2;
inline constexpr uint32_t kDurationPs = 3;
inline constexpr uint32_t kStats = 4;
}  // namespace xevent
namespace xstat {
inline constexpr uint32_t kMetadataId = 1;
inline constexpr uint32_t kInt64 = 4;
inline constexpr uint32_t kString = 5;
inline constexpr uint32_t kMessage = 6;
inline constexpr uint32_t kReference = 7;
}  // namespace xstat
namespace metadata {  // of events and of stats
inline constexpr uint32_t kId = 1;
inline constexpr uint32_t kName = 2;
inline constexpr uint32_t kStats = 5;  // of events
}  // namespace metadata
namespace map_entry {
inline constexpr uint32_t kKey = 1;
inline constexpr uint32_t kValue = 2;
}  // namespace map_entry

inline constexpr int64_t kPicoseconds = 1000;  // in a nanosecond

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_EXTENSIONS_XSPACE_FIELDS_H_
