#include "pjrt_core/runtime/queue/timeline.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "pjrt_core/runtime/queue/launcher.h"

namespace onexpu {
namespace {

class TimelineTest : public ::testing::Test {
 protected:
  static const sycl::context& Context() {
    static const sycl::context context{sycl::device(sycl::cpu_selector_v)};
    return context;
  }

  Timeline::Reservation Fill(int64_t estimate) {
    return timeline_.Submit(estimate, nullptr, {"fill", 4096},
                            [&](sycl::queue& queue) { return queue.memset(memory_, 1, 4096); });
  }

  DeviceHealth health_;
  Timeline timeline_{"test", Context(), Context().get_devices()[0], {}, &health_};
  void* memory_ = sycl::malloc_device(4096, timeline_.queue());
};

TEST_F(TimelineTest, CheapWorkIsCompletedByTheAskingThread) {
  Timeline::Reservation work = Fill(100);
  EXPECT_EQ(work.ticket, 1);
  std::thread::id thread;
  work.done->OnReady([&](const absl::Status& status) {
    EXPECT_TRUE(status.ok());
    thread = std::this_thread::get_id();
  });
  // The call waits for cheap work.
  EXPECT_TRUE(work.done->IsReady());
  EXPECT_EQ(thread, std::this_thread::get_id());
  EXPECT_TRUE(timeline_.IsComplete(work.ticket));
  EXPECT_FALSE(timeline_.DependencyOn(work.ticket).has_value());
}

TEST_F(TimelineTest, ExpensiveWorkIsCompletedByTheWaiter) {
  Timeline::Reservation work = Fill(int64_t{1} << 40);
  std::atomic<bool> called = false;
  work.done->OnReady([&](const absl::Status&) { called = true; });
  EXPECT_TRUE(work.done->Await().ok());
  timeline_.Wait(work.ticket);
  while (!called) std::this_thread::yield();
}

// A wrong estimate makes no polling thread wait: only a run proves that work is cheap.
TEST_F(TimelineTest, WorkIsCheapOnlyOnceProven) {
  RunCostModel cost_model(100);
  auto run = [&] {
    Timeline::Reservation work = timeline_.Reserve(cost_model.nanoseconds(), &cost_model);
    timeline_.Commit(work.ticket, timeline_.queue().memset(memory_, 1, 4096), absl::OkStatus(),
                     nullptr);
    return work;
  };
  Timeline::Reservation first = run();
  timeline_.WaitIfCheap(first.ticket);
  EXPECT_FALSE(timeline_.IsComplete(first.ticket));
  timeline_.Wait(first.ticket);
  for (int i = 0; i < 100 && !cost_model.is_proven(); ++i) timeline_.Wait(run().ticket);
  ASSERT_TRUE(cost_model.is_proven());
  Timeline::Reservation later = run();
  timeline_.WaitIfCheap(later.ticket);
  EXPECT_TRUE(timeline_.IsComplete(later.ticket));
  cost_model.ObserveWait(50'000'000);  // 50 ms: never again
  Timeline::Reservation expensive = run();
  timeline_.WaitIfCheap(expensive.ticket);
  EXPECT_FALSE(timeline_.IsComplete(expensive.ticket));
  timeline_.Wait(expensive.ticket);
}

TEST_F(TimelineTest, CallbacksRunInTicketOrder) {
  std::vector<Ticket> order;
  std::vector<Timeline::Reservation> work;
  for (int i = 0; i < 10; ++i) work.push_back(Fill(0));
  absl::Mutex mutex;
  for (const auto& each : work) {
    timeline_.WhenComplete(each.ticket, [&order, &mutex, ticket = each.ticket] {
      absl::MutexLock lock(&mutex);
      order.push_back(ticket);
    });
  }
  timeline_.Wait(work.back().ticket);
  timeline_.Stop();
  for (size_t i = 1; i < order.size(); ++i) EXPECT_LT(order[i - 1], order[i]);
  EXPECT_EQ(order.size(), 10);
}

TEST_F(TimelineTest, FailureIsKnownAtOnceAndOrderIsKept) {
  Timeline::Reservation first = timeline_.Reserve(0);
  Timeline::Reservation second = timeline_.Reserve(0);
  timeline_.Commit(first.ticket, std::nullopt, absl::InternalError("x"), nullptr);
  EXPECT_TRUE(first.done->IsReady());
  EXPECT_EQ(first.done->status().code(), absl::StatusCode::kInternal);
  EXPECT_FALSE(second.done->IsReady());
  timeline_.Commit(second.ticket, std::nullopt, absl::OkStatus(), nullptr);
  EXPECT_TRUE(second.done->Await().ok());
}

// Work that is submitted after failed work is committed queries the failure and must not miss it.
TEST_F(TimelineTest, CommittedFailedWorkHasItsFailure) {
  constexpr int kRounds = 2000;
  std::vector<Timeline::Reservation> work;
  for (int i = 0; i < kRounds; ++i) work.push_back(timeline_.Reserve(0));
  int missed = 0;
  std::thread reader([&] {
    for (const auto& each : work) {
      while (!timeline_.IsCommitted(each.ticket)) {
      }
      if (!each.done->IsKnown()) ++missed;
    }
  });
  for (const auto& each : work) {
    timeline_.Commit(each.ticket, std::nullopt, absl::InternalError("x"), nullptr);
  }
  reader.join();
  EXPECT_EQ(missed, 0);
}

TEST_F(TimelineTest, WaitsForWorkThatIsCommittedLater) {
  Timeline::Reservation work = timeline_.Reserve(0);
  std::thread launcher([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    timeline_.Commit(work.ticket, std::nullopt, absl::OkStatus(), nullptr);
  });
  std::atomic<bool> called = false;
  work.done->OnReady([&](const absl::Status&) { called = true; });
  EXPECT_FALSE(called);
  EXPECT_TRUE(work.done->Await().ok());
  launcher.join();
  while (!called) std::this_thread::yield();
}

TEST_F(TimelineTest, KeepsAliveUntilComplete) {
  auto kept = std::make_shared<int>(1);
  std::weak_ptr<int> watch = kept;
  Timeline::Reservation work =
      timeline_.Submit(0, std::move(kept), {"fill", 4096},
                       [&](sycl::queue& queue) { return queue.memset(memory_, 1, 4096); });
  EXPECT_FALSE(watch.expired());
  timeline_.Wait(work.ticket);
  EXPECT_TRUE(watch.expired());
}

TEST_F(TimelineTest, ALostDevicePoisonsWhatIsNotComplete) {
  Timeline::Reservation before = Fill(0);
  timeline_.Wait(before.ticket);
  Timeline::Reservation pending = Fill(0);
  health_.MarkLost(absl::InternalError("gone"));
  EXPECT_EQ(pending.done->Await().code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(before.done->status().ok());
  Timeline::Reservation after = Fill(0);
  EXPECT_EQ(after.done->Await().code(), absl::StatusCode::kAborted);
}

TEST(Launcher, RunsInOrderAndIsBusyUntilDone) {
  Launcher launcher;
  std::vector<int> order;
  for (int i = 0; i < 5; ++i) {
    launcher.Enqueue([&order, &launcher, i] {
      EXPECT_TRUE(launcher.IsThisThread());
      EXPECT_TRUE(launcher.busy());
      order.push_back(i);
    });
  }
  launcher.Drain();
  EXPECT_FALSE(launcher.busy());
  EXPECT_FALSE(launcher.IsThisThread());
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace onexpu
