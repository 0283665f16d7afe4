#include "tf_plugin/placement_counters.h"

#include <array>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace onexpu::tf_plugin {
namespace {

constexpr std::array<const char*, kNumRoutes> kRouteNames = {"cluster", "on_demand", "sycl_kernel",
                                                             "host"};

struct CounterTable {
  absl::Mutex mutex;
  // std::map: references stay valid, and reports come out in order.
  std::array<std::map<std::string, std::atomic<uint64_t>>, kNumRoutes> counts
      ABSL_GUARDED_BY(mutex);

  std::map<std::string, std::string> host_reasons ABSL_GUARDED_BY(mutex);

  static CounterTable& Get() {
    static CounterTable* const table = new CounterTable;
    return *table;
  }
};

}  // namespace

std::atomic<uint64_t>& PlacementCounter(Route route, absl::string_view op) {
  CounterTable& table = CounterTable::Get();
  absl::MutexLock lock(&table.mutex);
  return table.counts[static_cast<int>(route)].try_emplace(std::string(op), 0).first->second;
}

std::atomic<uint64_t>& HostCounter(absl::string_view op, absl::string_view reason) {
  {
    CounterTable& table = CounterTable::Get();
    absl::MutexLock lock(&table.mutex);
    table.host_reasons[std::string(op)] = reason;
  }
  return PlacementCounter(Route::kHost, op);
}

}  // namespace onexpu::tf_plugin

#define ONEXPU_EXPORT __attribute__((visibility("default")))

extern "C" ONEXPU_EXPORT void onexpu_tf_placement_counters(
    void (*visit)(void* user, const char* route, const char* op, uint64_t count), void* user) {
  using namespace onexpu::tf_plugin;  // NOLINT(build/namespaces)
  CounterTable& table = CounterTable::Get();
  absl::MutexLock lock(&table.mutex);
  for (int route = 0; route < kNumRoutes; ++route) {
    for (const auto& [op, count] : table.counts[route]) {
      const uint64_t value = count.load(std::memory_order_relaxed);
      if (value > 0) visit(user, kRouteNames[route], op.c_str(), value);
    }
  }
}

extern "C" ONEXPU_EXPORT void onexpu_tf_reset_placement_counters() {
  using namespace onexpu::tf_plugin;  // NOLINT(build/namespaces)
  CounterTable& table = CounterTable::Get();
  absl::MutexLock lock(&table.mutex);
  for (auto& route : table.counts) {
    for (auto& [op, count] : route) count.store(0, std::memory_order_relaxed);
  }
}

extern "C" ONEXPU_EXPORT void onexpu_tf_host_reasons(void (*visit)(void* user, const char* op,
                                                                   const char* reason),
                                                     void* user) {
  using namespace onexpu::tf_plugin;  // NOLINT(build/namespaces)
  CounterTable& table = CounterTable::Get();
  absl::MutexLock lock(&table.mutex);
  for (const auto& [op, reason] : table.host_reasons) visit(user, op.c_str(), reason.c_str());
}
