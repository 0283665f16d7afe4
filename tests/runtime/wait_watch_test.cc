// Tests the reports of long waits.
#include "pjrt_core/runtime/queue/wait_watch.h"

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onexpu {
namespace {

const bool kIsSet = setenv("ONEXPU_WAIT_REPORT_SECONDS", "0.2", 1) == 0;

class Subject final : public WaitSubject {
 public:
  std::string DescribeWait(uint64_t number) override { return absl::StrCat("work ", number); }
  void ProbeWait(uint64_t number) override { ++probes; }
  std::atomic<int> probes = 0;
};

TEST(WaitWatch, NamesALongWaitOnceInAnInterval) {
  static Subject* const subject = new Subject;
  testing::internal::CaptureStderr();
  {
    const WatchedWait wait(*subject, 7);
    absl::SleepFor(absl::Milliseconds(550));
  }
  absl::SleepFor(absl::Milliseconds(300));
  const std::string lines = testing::internal::GetCapturedStderr();
  EXPECT_THAT(lines, testing::StartsWith("onexpu: waiting for 0 s for work 7.\n"));
  EXPECT_GE(subject->probes, 1);
  EXPECT_LE(subject->probes, 3);
}

TEST(WaitWatch, SaysNothingAboutManyShortWaits) {
  static Subject* const subject = new Subject;
  testing::internal::CaptureStderr();
  for (int i = 0; i < 60; ++i) {
    const WatchedWait outer(*subject, i);
    const WatchedWait inner(*subject, i);
    absl::SleepFor(absl::Milliseconds(10));
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(WaitWatch, GoesOnWithTheOuterWait) {
  static Subject* const subject = new Subject;
  testing::internal::CaptureStderr();
  std::thread([&] {
    const WatchedWait outer(*subject, 1);
    {
      const WatchedWait inner(*subject, 2);
    }
    absl::SleepFor(absl::Milliseconds(400));
  }).join();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("for work 1.\n"));
}

}  // namespace
}  // namespace onexpu
