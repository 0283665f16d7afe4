// Counts what ran where, for onexpu.placement_report().
//
// One table per process: (route, op type, reason) -> number of executions. Thread-safe; counting is
// one relaxed increment, the table is only locked when a kernel is created. The C functions at the
// end are what Python reads.
#ifndef TF_PLUGIN_CORE_PLACEMENT_COUNTERS_H_
#define TF_PLUGIN_CORE_PLACEMENT_COUNTERS_H_

#include <stdint.h>

#include <atomic>

#include "absl/strings/string_view.h"

namespace onexpu::tf_plugin {

enum class Route {
  kCluster = 0,     // inside a program that XLA compiled from several ops
  kOnDemand = 1,    // a program that XLA compiled from this op alone
  kSyclKernel = 2,  // a SYCL kernel, built in or the user's
  kHost = 3,        // a kernel of TensorFlow's CPU device
};
inline constexpr int kNumRoutes = 4;

// Executions of `op` by `route`, which is not the host. Never moves; lives as long as the process.
std::atomic<uint64_t>& PlacementCounter(Route route, absl::string_view op);

// The same of `op` on the host for `reason`: another `op` may be there for another.
std::atomic<uint64_t>& HostCounter(absl::string_view op, absl::string_view reason);

inline void Count(std::atomic<uint64_t>& counter, uint64_t n = 1) {
  counter.fetch_add(n, std::memory_order_relaxed);
}

}  // namespace onexpu::tf_plugin

extern "C" {

// Calls `visit` once for each (route, op, reason) with a count other than zero. Strings are
// NUL-terminated and live for the call. Routes: "cluster", "on_demand", "sycl_kernel", "host"; only
// what is on the host has a reason, the others have "".
void onexpu_tf_placement_counters(void (*visit)(void* user, const char* route, const char* op,
                                                const char* reason, uint64_t count),
                                  void* user);

void onexpu_tf_reset_placement_counters(void);
}

#endif  // TF_PLUGIN_CORE_PLACEMENT_COUNTERS_H_
