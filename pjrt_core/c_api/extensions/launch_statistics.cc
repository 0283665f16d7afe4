#include "pjrt_core/c_api/extensions/launch_statistics.h"

#include <memory>
#include <vector>

#include "custom_kernels/builtin_kernels.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/device/statistics.h"
#include "pjrt_core/runtime/client.h"

namespace onexpu::c_api {
namespace {

// By the values of the enumerations of statistics.h.
constexpr const char* kDirections[] = {"host_to_device", "device_to_host", "device_to_device"};
constexpr const char* kOrigins[kNumOrigins] = {"unknown", "TensorFlow", "JAX",
                                               "onexpu",  "callback",   "program"};
constexpr const char* kEntries[kNumTransferEntries] = {
    "BufferFromHostBuffer", "ToHostBuffer", "CopyRawToHost", "Copy", "constants", "staging"};

std::vector<OnexpuTransferCounter> NonZeroCounters(Statistics& statistics) {
  std::vector<OnexpuTransferCounter> counters;
  for (int direction = 0; direction < 3; ++direction) {
    for (int origin = 0; origin < kNumOrigins; ++origin) {
      for (int entry = 0; entry < kNumTransferEntries; ++entry) {
        const TransferCount& count =
            statistics.transfer(static_cast<TransferDirection>(direction),
                                static_cast<Origin>(origin), static_cast<TransferEntry>(entry));
        const uint64_t times = count.count.load(std::memory_order_relaxed);
        if (times == 0) continue;
        counters.push_back({kDirections[direction], kOrigins[origin], kEntries[entry], times,
                            count.bytes.load(std::memory_order_relaxed)});
      }
    }
  }
  return counters;
}

}  // namespace

absl::Status ReadStatistics(OnexpuStatisticsArgs& args) {
  ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<Client> core, Client::Get());
  Statistics& statistics = core->statistics();
  args.programs_executed = statistics.programs_executed.load(std::memory_order_relaxed);
  args.kernels_launched =
      statistics.kernels_launched.load(std::memory_order_relaxed) + CustomKernelLaunches();
  args.library_calls = statistics.library_calls.load(std::memory_order_relaxed);
  args.eager_launches = statistics.eager_launches.load(std::memory_order_relaxed);
  if (args.on_transfers != nullptr) {
    const std::vector<OnexpuTransferCounter> counters = NonZeroCounters(statistics);
    args.on_transfers(args.user, counters.data(), counters.size());
  }
  return absl::OkStatus();
}

}  // namespace onexpu::c_api
