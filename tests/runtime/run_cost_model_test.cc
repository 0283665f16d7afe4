#include "pjrt_core/cpu_device/run_cost_model.h"

#include "gtest/gtest.h"

namespace onexpu {
namespace {

constexpr int64_t kMicrosecond = 1'000;
constexpr int64_t kEstimate = 15 * kMicrosecond;
constexpr int64_t kTinyEstimate = 5 * kMicrosecond;
constexpr int kTrials = 8;

// As many runs that stay on the device as there are until the next trial.
void Rest(RunCostModel& cost_model, int runs) {
  for (int i = 0; i < runs; ++i) {
    ASSERT_FALSE(cost_model.wants_idle_device());
    ASSERT_FALSE(cost_model.prefers_caller());
    cost_model.ObserveResting();
  }
  EXPECT_TRUE(cost_model.wants_idle_device());
  EXPECT_TRUE(cost_model.wants_time());
  EXPECT_FALSE(cost_model.prefers_caller());
}

// Runs the trials on the device.
void TryDevice(RunCostModel& cost_model, int64_t nanoseconds) {
  cost_model.AllowCaller(/*always=*/false);
  for (int i = 0; i < kTrials; ++i) {
    EXPECT_TRUE(cost_model.wants_time());
    EXPECT_FALSE(cost_model.prefers_caller());
    cost_model.ObserveOnDevice(nanoseconds);
  }
}

TEST(RunCostModel, StaysOnTheDeviceUnlessAllowed) {
  RunCostModel cost_model(kEstimate);
  for (int i = 0; i < 2 * kTrials; ++i) cost_model.ObserveOnDevice(kMicrosecond);
  EXPECT_TRUE(cost_model.is_proven());
  EXPECT_FALSE(cost_model.wants_idle_device());
  EXPECT_FALSE(cost_model.wants_time());
}

TEST(RunCostModel, TheFasterWayStays) {
  for (const int64_t on_caller : {36, 40}) {  // a little slower is good enough
    RunCostModel cost_model(kEstimate);
    TryDevice(cost_model, 30 * kMicrosecond);
    for (int i = 0; i < kTrials; ++i) {
      EXPECT_TRUE(cost_model.prefers_caller());
      cost_model.ObserveOnCaller(on_caller * kMicrosecond);
    }
    EXPECT_EQ(cost_model.prefers_caller(), on_caller < 38);
    EXPECT_EQ(cost_model.wants_idle_device(), on_caller < 38);
    EXPECT_FALSE(cost_model.wants_time());
  }
}

// What the first run sets up, and a neighbour on the machine, count as little as any other run.
TEST(RunCostModel, AMedianDecides) {
  RunCostModel cost_model(kEstimate);
  TryDevice(cost_model, 30 * kMicrosecond);
  for (int i = 0; i < kTrials; ++i) {
    cost_model.ObserveOnCaller((i % 4 == 0 ? 5'000 : 20) * kMicrosecond);
  }
  EXPECT_TRUE(cost_model.prefers_caller());
}

TEST(RunCostModel, TwoHopelessTrialsAreEnough) {
  RunCostModel cost_model(kEstimate);
  TryDevice(cost_model, 30 * kMicrosecond);
  cost_model.ObserveOnCaller(5'000 * kMicrosecond);
  EXPECT_TRUE(cost_model.prefers_caller());
  cost_model.ObserveOnCaller(5'000 * kMicrosecond);
  EXPECT_FALSE(cost_model.prefers_caller());
  Rest(cost_model, 1 << 16);  // no busy moment
}

// One bad moment, such as the start of a process, does not decide for good.
TEST(RunCostModel, WhatStaysOnTheDeviceIsTriedAgain) {
  RunCostModel cost_model(kEstimate);
  const auto try_both = [&](int64_t on_caller) {
    for (int i = 0; i < kTrials; ++i) cost_model.ObserveOnDevice(30 * kMicrosecond);
    for (int i = 0; i < kTrials; ++i) cost_model.ObserveOnCaller(on_caller * kMicrosecond);
  };
  cost_model.AllowCaller(/*always=*/false);
  for (const int runs : {1 << 7, 1 << 9}) {  // longer every time
    try_both(60);
    Rest(cost_model, runs);
  }
  try_both(20);
  for (int i = 0; i < 1 << 16; ++i) cost_model.ObserveOnCaller(20 * kMicrosecond);
  EXPECT_TRUE(cost_model.prefers_caller());
}

TEST(RunCostModel, WhatTheCallerTakesLongForIsTriedAgain) {
  RunCostModel cost_model(kEstimate);
  TryDevice(cost_model, 200 * kMicrosecond);
  for (int i = 0; i < kTrials + (1 << 7); ++i) {
    ASSERT_TRUE(cost_model.prefers_caller());
    cost_model.ObserveOnCaller(80 * kMicrosecond);
  }
  EXPECT_FALSE(cost_model.prefers_caller());
  EXPECT_TRUE(cost_model.wants_time());
  for (int i = 0; i < kTrials; ++i) cost_model.ObserveOnDevice(60 * kMicrosecond);
  for (int i = 0; i < kTrials; ++i) cost_model.ObserveOnCaller(80 * kMicrosecond);
  EXPECT_FALSE(cost_model.prefers_caller());
}

// The caller has other things to do meanwhile.
TEST(RunCostModel, LongWorkMustBeFasterOnTheCaller) {
  for (const int64_t on_caller : {125, 135}) {
    RunCostModel cost_model(kEstimate);
    TryDevice(cost_model, 200 * kMicrosecond);
    for (int i = 0; i < kTrials; ++i) cost_model.ObserveOnCaller(on_caller * kMicrosecond);
    EXPECT_EQ(cost_model.prefers_caller(), on_caller < 130);
  }
}

TEST(RunCostModel, ATrustedEstimateNeedsNoRun) {
  RunCostModel cost_model(kEstimate);
  EXPECT_FALSE(cost_model.is_cheap());
  cost_model.TrustEstimate();
  EXPECT_TRUE(cost_model.is_cheap());
}

// Small operands say little of what a kernel does.
TEST(RunCostModel, TrustSendsNothingLongToTheCaller) {
  RunCostModel cost_model(kTinyEstimate);
  cost_model.TrustEstimate();
  cost_model.AllowCaller(/*always=*/false);
  for (int i = 0; i < kTrials; ++i) {
    EXPECT_FALSE(cost_model.prefers_caller());
    cost_model.ObserveOnDevice(50'000 * kMicrosecond);
  }
  Rest(cost_model, 1 << 16);
}

TEST(RunCostModel, ADeviceWithoutCallersQueueIsNotTried) {
  RunCostModel cost_model(kEstimate);
  for (int i = 0; i < 1 << 12; ++i) cost_model.ObserveResting();
  EXPECT_FALSE(cost_model.wants_idle_device());
}

TEST(RunCostModel, LongWorkStaysOnTheDevice) {
  RunCostModel cost_model(kEstimate);
  TryDevice(cost_model, 600 * kMicrosecond);
  Rest(cost_model, 1 << 7);
}

TEST(RunCostModel, WorkThatGrowsGoesBack) {
  RunCostModel cost_model(kEstimate);
  TryDevice(cost_model, 30 * kMicrosecond);
  for (int i = 0; i < kTrials; ++i) cost_model.ObserveOnCaller(20 * kMicrosecond);
  cost_model.ObserveOnCaller(10'000 * kMicrosecond);
  cost_model.ObserveOnCaller(10'000 * kMicrosecond);
  cost_model.ObserveOnCaller(20 * kMicrosecond);
  EXPECT_TRUE(cost_model.prefers_caller());
  for (int i = 0; i < 2; ++i) cost_model.ObserveOnCaller(10'000 * kMicrosecond);
  cost_model.ObserveWait(10 * kMicrosecond);  // a wait is no run
  cost_model.ObserveOnCaller(10'000 * kMicrosecond);
  Rest(cost_model, 1 << 9);
  cost_model.ObserveWait(6'000 * kMicrosecond);  // nor a run a wait
  EXPECT_EQ(cost_model.nanoseconds(), kEstimate);
}

// It is no longer tiny, so a loop that never leaves the device idle ends the trial.
TEST(RunCostModel, TinyWorkThatGrowsIsMeasuredOnTheDevice) {
  RunCostModel cost_model(kTinyEstimate);
  cost_model.AllowCaller(/*always=*/false);
  cost_model.ObserveOnDevice(60 * kMicrosecond);
  for (int i = 0; i < kTrials; ++i) cost_model.ObserveOnCaller(5 * kMicrosecond);
  for (int i = 0; i < 3; ++i) cost_model.ObserveOnCaller(10'000 * kMicrosecond);
  Rest(cost_model, 1 << 9);
  cost_model.ObserveOnDevice(60 * kMicrosecond);
  EXPECT_FALSE(cost_model.prefers_caller());
  for (int i = 0; i < 256; ++i) cost_model.ObserveBehindOthers();
  EXPECT_FALSE(cost_model.wants_idle_device());
}

TEST(RunCostModel, WorkBehindOthersIsNotWaitedFor) {
  RunCostModel cost_model(kEstimate);
  cost_model.AllowCaller(/*always=*/false);
  const auto run_behind_others = [&] {
    for (int i = 0; i < 256; ++i) {
      ASSERT_TRUE(cost_model.wants_idle_device());
      cost_model.ObserveBehindOthers();
    }
    EXPECT_FALSE(cost_model.wants_idle_device());
  };
  run_behind_others();
  for (int i = 0; i < 1 << 7; ++i) cost_model.ObserveResting();
  run_behind_others();
}

TEST(RunCostModel, TinyWorkGoesToTheCallerAfterOneRun) {
  RunCostModel cost_model(kTinyEstimate);
  cost_model.AllowCaller(/*always=*/false);
  const auto loop_without_waits = [&] {
    for (int i = 0; i < 1000; ++i) cost_model.ObserveBehindOthers();
    EXPECT_TRUE(cost_model.wants_idle_device());
  };
  loop_without_waits();
  EXPECT_FALSE(cost_model.prefers_caller());
  cost_model.ObserveOnDevice(60 * kMicrosecond);
  EXPECT_TRUE(cost_model.is_proven());
  EXPECT_TRUE(cost_model.prefers_caller());
  loop_without_waits();
  for (int i = 0; i < kTrials; ++i) cost_model.ObserveOnCaller(5 * kMicrosecond);
  EXPECT_TRUE(cost_model.prefers_caller());
}

TEST(RunCostModel, AnEstimateThatWasTooSmallIsTriedOnTheDevice) {
  {
    RunCostModel cost_model(kTinyEstimate);
    cost_model.AllowCaller(/*always=*/false);
    cost_model.ObserveOnDevice(400 * kMicrosecond);
    EXPECT_FALSE(cost_model.prefers_caller());
  }
  for (const int64_t on_caller : {40, 400}) {  // all trials; two
    RunCostModel cost_model(kTinyEstimate);
    cost_model.AllowCaller(/*always=*/false);
    cost_model.ObserveOnDevice(200 * kMicrosecond);
    for (int i = 0; cost_model.prefers_caller(); ++i) {
      ASSERT_LT(i, kTrials);
      cost_model.ObserveOnCaller(on_caller * kMicrosecond);
    }
    EXPECT_TRUE(cost_model.wants_time());
    for (int i = 0; i < kTrials; ++i) cost_model.ObserveOnDevice(100 * kMicrosecond);
    EXPECT_TRUE(cost_model.prefers_caller());
    for (int i = 0; i < kTrials; ++i) cost_model.ObserveOnCaller(on_caller * kMicrosecond);
    EXPECT_EQ(cost_model.prefers_caller(), on_caller < 100);
  }
}

TEST(RunCostModel, AlwaysIsAlways) {
  RunCostModel cost_model(kEstimate);
  cost_model.AllowCaller(/*always=*/true);
  for (int i = 0; i < 300; ++i) {
    cost_model.ObserveBehindOthers();
    cost_model.ObserveOnCaller(10'000 * kMicrosecond);
  }
  EXPECT_TRUE(cost_model.prefers_caller());
}

}  // namespace
}  // namespace onexpu
