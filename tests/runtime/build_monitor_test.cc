// Tests the limit on parallel builds, and the reports of slow ones.
#include "pjrt_core/runtime/kernel_library/build_monitor.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onexpu {
namespace {

TEST(BuildMonitor, BoundsBuildsOfThisProcess) {
  BuildMonitor monitor(3, absl::InfiniteDuration());
  monitor.Begin(10);
  std::atomic<int> builds = 0, most = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 10; ++i) {
      threads.emplace_back([&] {
        const BuildMonitor::Build build(monitor, /*limited=*/true);
        const int now = ++builds;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        absl::SleepFor(absl::Milliseconds(10));
        --builds;
        monitor.Loaded();
      });
    }
  }
  EXPECT_EQ(most, 3);
}

TEST(BuildMonitor, ReportsSlowBuildsAtIntervals) {
  testing::internal::CaptureStderr();
  auto* const monitor = new BuildMonitor(2, absl::Milliseconds(200));  // its thread may outlive us
  monitor->Begin(3);
  {
    const BuildMonitor::Build build(*monitor, /*limited=*/true);
    monitor->Loaded();
    absl::SleepFor(absl::Milliseconds(500));
  }
  monitor->Loaded();
  monitor->Loaded();
  absl::SleepFor(absl::Milliseconds(300));
  const std::string lines = testing::internal::GetCapturedStderr();
  // At least one, however late a busy machine runs the thread.
  EXPECT_EQ(lines.find("onexpu: building kernels for the device: 1 of 3 modules after "), 0u)
      << lines;
}

TEST(BuildMonitor, SaysNothingAboutFastBuilds) {
  testing::internal::CaptureStderr();
  auto* const monitor = new BuildMonitor(2, absl::Milliseconds(200));
  monitor->Begin(1);
  {
    const BuildMonitor::Build build(*monitor, /*limited=*/false);
  }
  monitor->Loaded();
  absl::SleepFor(absl::Milliseconds(300));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace onexpu
