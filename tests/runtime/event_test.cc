#include "pjrt_core/device/event.h"

#include <thread>

#include "gtest/gtest.h"

namespace onexpu {
namespace {

TEST(Event, CallbacksRunOnceInOrderWithTheStatus) {
  auto event = Event::Create();
  std::vector<int> order;
  event->OnReady([&](const absl::Status& status) {
    EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
    order.push_back(1);
  });
  event->OnReady([&](const absl::Status&) { order.push_back(2); });
  EXPECT_FALSE(event->IsReady());
  event->Complete(absl::AbortedError("x"));
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  event->OnReady([&](const absl::Status&) { order.push_back(3); });
  EXPECT_EQ(order.back(), 3);
}

TEST(Event, WhatIsKnownHasItsCallbacksOnCompletion) {
  auto event = Event::Create();
  std::vector<absl::StatusCode> called;
  const auto note = [&](const absl::Status& status) { called.push_back(status.code()); };
  event->OnReady(note);
  event->MakeKnown(absl::AbortedError("x"));
  EXPECT_TRUE(called.empty());
  EXPECT_TRUE(event->IsKnown());
  EXPECT_EQ(event->Await().code(), absl::StatusCode::kAborted);
  event->Complete(absl::AbortedError("x"));
  EXPECT_EQ(called, std::vector{absl::StatusCode::kAborted});
}

TEST(Event, FirstCompletionCounts) {
  auto event = Event::Create();
  event->Complete(absl::OkStatus());
  event->Complete(absl::InternalError("late"));
  EXPECT_TRUE(event->Await().ok());
}

TEST(Event, AwaitBlocksUntilAnotherThreadCompletes) {
  auto event = Event::Create();
  std::thread completer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    event->Complete(absl::DataLossError("x"));
  });
  EXPECT_EQ(event->Await().code(), absl::StatusCode::kDataLoss);
  completer.join();
}

// A source that completes its ticket only when the event is observed.
class LazySource final : public EventSource {
 public:
  void Watch(uint64_t ticket, WaitMode mode) override {
    ++asked;
    if (mode == WaitMode::kUntilComplete) event->Complete(absl::OkStatus());
  }
  std::shared_ptr<Event> event;
  int asked = 0;
};

TEST(Event, NotifiesItsSourceOfWaiters) {
  LazySource source;
  source.event = std::make_shared<Event>(&source, 7);
  bool called = false;
  source.event->OnReady([&](const absl::Status&) { called = true; });
  EXPECT_EQ(source.asked, 1);
  EXPECT_FALSE(called);
  EXPECT_FALSE(source.event->IsKnown());
  EXPECT_EQ(source.asked, 1);
  EXPECT_FALSE(source.event->IsReady());
  EXPECT_EQ(source.asked, 2);
  EXPECT_TRUE(source.event->Await().ok());
  EXPECT_TRUE(called);
  EXPECT_EQ(source.asked, 3);
}

}  // namespace
}  // namespace onexpu
