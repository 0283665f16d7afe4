// The statistics function of the launch extension.
#ifndef PJRT_CORE_C_API_EXTENSIONS_LAUNCH_STATISTICS_H_
#define PJRT_CORE_C_API_EXTENSIONS_LAUNCH_STATISTICS_H_

#include "absl/status/status.h"
#include "pjrt_core/c_api/extensions/launch.h"

namespace onexpu::c_api {

absl::Status ReadStatistics(OnexpuStatisticsArgs& args);

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_EXTENSIONS_LAUNCH_STATISTICS_H_
