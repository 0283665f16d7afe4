#include "tf_plugin/core/placement_counters.h"

#include <array>
#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace onexpu::tf_plugin {
namespace {

constexpr std::array<const char*, kNumRoutes> kRouteNames = {"cluster", "on_demand", "sycl_kernel",
                                                             "host"};

struct CounterTable {
  absl::Mutex mutex;
  // By op and reason. std::map: references stay valid, and reports come out in order.
  std::array<std::map<std::pair<std::string, std::string>, std::atomic<uint64_t>>, kNumRoutes>
      counts ABSL_GUARDED_BY(mutex);

  std::atomic<uint64_t>& Find(Route route, absl::string_view op, absl::string_view reason) {
    absl::MutexLock lock(&mutex);
    return counts[static_cast<int>(route)]
        .try_emplace({std::string(op), std::string(reason)}, 0)
        .first->second;
  }

  static CounterTable& Get() {
    static CounterTable* const table = new CounterTable;
    return *table;
  }
};

}  // namespace

std::atomic<uint64_t>& PlacementCounter(Route route, absl::string_view op) {
  return CounterTable::Get().Find(route, op, "");
}

std::atomic<uint64_t>& HostCounter(absl::string_view op, absl::string_view reason) {
  return CounterTable::Get().Find(Route::kHost, op, reason);
}

}  // namespace onexpu::tf_plugin

#define ONEXPU_EXPORT __attribute__((visibility("default")))

extern "C" ONEXPU_EXPORT void onexpu_tf_placement_counters(
    void (*visit)(void* user, const char* route, const char* op, const char* reason,
                  uint64_t count),
    void* user) {
  using namespace onexpu::tf_plugin;  // NOLINT(build/namespaces)
  CounterTable& table = CounterTable::Get();
  absl::MutexLock lock(&table.mutex);
  for (int route = 0; route < kNumRoutes; ++route) {
    for (const auto& [key, count] : table.counts[route]) {
      const auto& [op, reason] = key;
      const uint64_t value = count.load(std::memory_order_relaxed);
      if (value > 0) visit(user, kRouteNames[route], op.c_str(), reason.c_str(), value);
    }
  }
}

extern "C" ONEXPU_EXPORT void onexpu_tf_reset_placement_counters() {
  using namespace onexpu::tf_plugin;  // NOLINT(build/namespaces)
  CounterTable& table = CounterTable::Get();
  absl::MutexLock lock(&table.mutex);
  for (auto& route : table.counts) {
    for (auto& [key, count] : route) count.store(0, std::memory_order_relaxed);
  }
}
