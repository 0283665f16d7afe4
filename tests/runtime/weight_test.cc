#include "pjrt_core/runtime/queue/weight.h"

#include "gtest/gtest.h"

namespace onexpu {
namespace {

constexpr int64_t kMicrosecond = 1'000;
constexpr int64_t kEstimate = 15 * kMicrosecond;
constexpr int64_t kTinyEstimate = 5 * kMicrosecond;
constexpr int kTrials = 8;

// As many runs that stay on the device as there are until the next trial.
void Rest(Weight& weight, int runs) {
  for (int i = 0; i < runs; ++i) {
    ASSERT_FALSE(weight.wants_idle_device());
    ASSERT_FALSE(weight.prefers_caller());
    weight.ObserveResting();
  }
  EXPECT_TRUE(weight.wants_idle_device());
  EXPECT_TRUE(weight.wants_time());
  EXPECT_FALSE(weight.prefers_caller());
}

// A weight whose runs on the device have been tried.
void TryDevice(Weight& weight, int64_t nanoseconds) {
  weight.AllowCaller(/*always=*/false);
  for (int i = 0; i < kTrials; ++i) {
    EXPECT_TRUE(weight.wants_time());
    EXPECT_FALSE(weight.prefers_caller());
    weight.ObserveOnDevice(nanoseconds);
  }
}

TEST(Weight, StaysOnTheDeviceUnlessAllowed) {
  Weight weight(kEstimate);
  for (int i = 0; i < 2 * kTrials; ++i) weight.ObserveOnDevice(kMicrosecond);
  EXPECT_TRUE(weight.is_proven());
  EXPECT_FALSE(weight.wants_idle_device());
  EXPECT_FALSE(weight.wants_time());
}

TEST(Weight, TheFasterWayStays) {
  for (const int64_t on_caller : {36, 40}) {  // a little slower is good enough
    Weight weight(kEstimate);
    TryDevice(weight, 30 * kMicrosecond);
    for (int i = 0; i < kTrials; ++i) {
      EXPECT_TRUE(weight.prefers_caller());
      weight.ObserveOnCaller(on_caller * kMicrosecond);
    }
    EXPECT_EQ(weight.prefers_caller(), on_caller < 38);
    EXPECT_EQ(weight.wants_idle_device(), on_caller < 38);
    EXPECT_FALSE(weight.wants_time());
  }
}

// What the first run sets up, and a neighbour on the machine, count as little as any other run.
TEST(Weight, AMedianDecides) {
  Weight weight(kEstimate);
  TryDevice(weight, 30 * kMicrosecond);
  for (int i = 0; i < kTrials; ++i) {
    weight.ObserveOnCaller((i % 4 == 0 ? 5'000 : 20) * kMicrosecond);
  }
  EXPECT_TRUE(weight.prefers_caller());
}

TEST(Weight, TwoHopelessTrialsAreEnough) {
  Weight weight(kEstimate);
  TryDevice(weight, 30 * kMicrosecond);
  weight.ObserveOnCaller(5'000 * kMicrosecond);
  EXPECT_TRUE(weight.prefers_caller());
  weight.ObserveOnCaller(5'000 * kMicrosecond);
  EXPECT_FALSE(weight.prefers_caller());
  Rest(weight, 1 << 16);  // no busy moment
}

// One bad moment, such as the start of a process, does not decide for good.
TEST(Weight, WhatStaysOnTheDeviceIsTriedAgain) {
  Weight weight(kEstimate);
  const auto try_both = [&](int64_t on_caller) {
    for (int i = 0; i < kTrials; ++i) weight.ObserveOnDevice(30 * kMicrosecond);
    for (int i = 0; i < kTrials; ++i) weight.ObserveOnCaller(on_caller * kMicrosecond);
  };
  weight.AllowCaller(/*always=*/false);
  for (const int runs : {1 << 7, 1 << 9}) {  // longer every time
    try_both(60);
    Rest(weight, runs);
  }
  try_both(20);
  for (int i = 0; i < 1 << 16; ++i) weight.ObserveOnCaller(20 * kMicrosecond);
  EXPECT_TRUE(weight.prefers_caller());
}

TEST(Weight, WhatTheCallerTakesLongForIsTriedAgain) {
  Weight weight(kEstimate);
  TryDevice(weight, 200 * kMicrosecond);
  for (int i = 0; i < kTrials + (1 << 7); ++i) {
    ASSERT_TRUE(weight.prefers_caller());
    weight.ObserveOnCaller(80 * kMicrosecond);
  }
  EXPECT_FALSE(weight.prefers_caller());
  EXPECT_TRUE(weight.wants_time());
  for (int i = 0; i < kTrials; ++i) weight.ObserveOnDevice(60 * kMicrosecond);
  for (int i = 0; i < kTrials; ++i) weight.ObserveOnCaller(80 * kMicrosecond);
  EXPECT_FALSE(weight.prefers_caller());
}

// The caller has other things to do meanwhile.
TEST(Weight, LongWorkMustBeFasterOnTheCaller) {
  for (const int64_t on_caller : {125, 135}) {
    Weight weight(kEstimate);
    TryDevice(weight, 200 * kMicrosecond);
    for (int i = 0; i < kTrials; ++i) weight.ObserveOnCaller(on_caller * kMicrosecond);
    EXPECT_EQ(weight.prefers_caller(), on_caller < 130);
  }
}

TEST(Weight, ATrustedEstimateNeedsNoRun) {
  Weight weight(kEstimate);
  EXPECT_FALSE(weight.is_light());
  weight.TrustEstimate();
  EXPECT_TRUE(weight.is_light());
}

// Small operands say little of what a kernel does.
TEST(Weight, TrustSendsNothingLongToTheCaller) {
  Weight weight(kTinyEstimate);
  weight.TrustEstimate();
  weight.AllowCaller(/*always=*/false);
  for (int i = 0; i < kTrials; ++i) {
    EXPECT_FALSE(weight.prefers_caller());
    weight.ObserveOnDevice(50'000 * kMicrosecond);
  }
  Rest(weight, 1 << 16);
}

TEST(Weight, ADeviceWithoutCallersQueueIsNotTried) {
  Weight weight(kEstimate);
  for (int i = 0; i < 1 << 12; ++i) weight.ObserveResting();
  EXPECT_FALSE(weight.wants_idle_device());
}

TEST(Weight, LongWorkStaysOnTheDevice) {
  Weight weight(kEstimate);
  TryDevice(weight, 600 * kMicrosecond);
  Rest(weight, 1 << 7);
}

TEST(Weight, WorkThatGrowsGoesBack) {
  Weight weight(kEstimate);
  TryDevice(weight, 30 * kMicrosecond);
  for (int i = 0; i < kTrials; ++i) weight.ObserveOnCaller(20 * kMicrosecond);
  weight.ObserveOnCaller(10'000 * kMicrosecond);
  weight.ObserveOnCaller(10'000 * kMicrosecond);
  weight.ObserveOnCaller(20 * kMicrosecond);
  EXPECT_TRUE(weight.prefers_caller());
  for (int i = 0; i < 2; ++i) weight.ObserveOnCaller(10'000 * kMicrosecond);
  weight.Learn(10 * kMicrosecond);  // a wait is no run
  weight.ObserveOnCaller(10'000 * kMicrosecond);
  Rest(weight, 1 << 9);
  weight.Learn(6'000 * kMicrosecond);  // nor a run a wait
  EXPECT_EQ(weight.nanoseconds(), kEstimate);
}

// It is no longer tiny, so a loop that never leaves the device idle loses patience.
TEST(Weight, TinyWorkThatGrowsIsMeasuredOnTheDevice) {
  Weight weight(kTinyEstimate);
  weight.AllowCaller(/*always=*/false);
  weight.ObserveOnDevice(60 * kMicrosecond);
  for (int i = 0; i < kTrials; ++i) weight.ObserveOnCaller(5 * kMicrosecond);
  for (int i = 0; i < 3; ++i) weight.ObserveOnCaller(10'000 * kMicrosecond);
  Rest(weight, 1 << 9);
  weight.ObserveOnDevice(60 * kMicrosecond);
  EXPECT_FALSE(weight.prefers_caller());
  for (int i = 0; i < 256; ++i) weight.ObserveBehindOthers();
  EXPECT_FALSE(weight.wants_idle_device());
}

TEST(Weight, WorkBehindOthersIsNotWaitedFor) {
  Weight weight(kEstimate);
  weight.AllowCaller(/*always=*/false);
  const auto lose_patience = [&] {
    for (int i = 0; i < 256; ++i) {
      ASSERT_TRUE(weight.wants_idle_device());
      weight.ObserveBehindOthers();
    }
    EXPECT_FALSE(weight.wants_idle_device());
  };
  lose_patience();
  for (int i = 0; i < 1 << 7; ++i) weight.ObserveResting();
  lose_patience();
}

TEST(Weight, TinyWorkGoesToTheCallerAfterOneRun) {
  Weight weight(kTinyEstimate);
  weight.AllowCaller(/*always=*/false);
  const auto loop_that_nobody_waits_for = [&] {
    for (int i = 0; i < 1000; ++i) weight.ObserveBehindOthers();
    EXPECT_TRUE(weight.wants_idle_device());
  };
  loop_that_nobody_waits_for();
  EXPECT_FALSE(weight.prefers_caller());
  weight.ObserveOnDevice(60 * kMicrosecond);
  EXPECT_TRUE(weight.is_proven());
  EXPECT_TRUE(weight.prefers_caller());
  loop_that_nobody_waits_for();
  for (int i = 0; i < kTrials; ++i) weight.ObserveOnCaller(5 * kMicrosecond);
  EXPECT_TRUE(weight.prefers_caller());
}

TEST(Weight, AnEstimateThatWasTooSmallIsTriedOnTheDevice) {
  {
    Weight weight(kTinyEstimate);
    weight.AllowCaller(/*always=*/false);
    weight.ObserveOnDevice(400 * kMicrosecond);
    EXPECT_FALSE(weight.prefers_caller());
  }
  for (const int64_t on_caller : {40, 400}) {  // all trials; two
    Weight weight(kTinyEstimate);
    weight.AllowCaller(/*always=*/false);
    weight.ObserveOnDevice(200 * kMicrosecond);
    for (int i = 0; weight.prefers_caller(); ++i) {
      ASSERT_LT(i, kTrials);
      weight.ObserveOnCaller(on_caller * kMicrosecond);
    }
    EXPECT_TRUE(weight.wants_time());
    for (int i = 0; i < kTrials; ++i) weight.ObserveOnDevice(100 * kMicrosecond);
    EXPECT_TRUE(weight.prefers_caller());
    for (int i = 0; i < kTrials; ++i) weight.ObserveOnCaller(on_caller * kMicrosecond);
    EXPECT_EQ(weight.prefers_caller(), on_caller < 100);
  }
}

TEST(Weight, AlwaysIsAlways) {
  Weight weight(kEstimate);
  weight.AllowCaller(/*always=*/true);
  for (int i = 0; i < 300; ++i) {
    weight.ObserveBehindOthers();
    weight.ObserveOnCaller(10'000 * kMicrosecond);
  }
  EXPECT_TRUE(weight.prefers_caller());
}

}  // namespace
}  // namespace onexpu
