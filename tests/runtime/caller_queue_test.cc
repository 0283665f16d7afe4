// Small work on the thread that calls it: order, memory, errors, and what must not go there.
#include "pjrt_core/cpu_device/caller_queue.h"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pjrt_core/cpu_device/run_cost_model.h"
#include "pjrt_core/ffi/registry.h"
#include "pjrt_core/runtime/buffer/buffer.h"
#include "pjrt_core/runtime/buffer/submission.h"
#include "pjrt_core/runtime/client.h"
#include "pjrt_core/runtime/program/launch.h"
#include "pjrt_core/runtime/program/loaded_program.h"
#include "pjrt_core/runtime/sycl_device/sycl_device.h"
#include "tests/runtime/test_program.h"
#include "tests/thunks/ffi_fixture.h"

namespace onexpu {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

// The client reads them when it is made. CPUs alone have such queues.
const bool kIsSet =
    setenv("ONEXPU_DEVICE", "cpu", 1) == 0 && setenv("ONEXPU_SMALL_WORK", "caller", 1) == 0;

SyclDevice& Device() { return *static_cast<SyclDevice*>(TestDevice()); }

// Tickets that `function` made the compute queue give.
template <typename Function>
int64_t TicketsOf(Function function) {
  const Ticket before = Device().compute().reserved();
  function();
  return static_cast<int64_t>(Device().compute().reserved() - before);
}

std::shared_ptr<Buffer> Ones(int64_t size) { return FromVector(std::vector<float>(size, 1.0f)); }

class CallerQueue : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(kIsSet);
    ASSERT_TRUE(Device().compute().has_caller_queue());
    ASSERT_TRUE(Device().Synchronize().ok());
  }
};

// What the rest builds on: to SYCL these queues are not in order.
TEST_F(CallerQueue, CommandsAreCompleteOnReturn) {
  sycl::queue& queue = Device().compute().caller_queue()->queue;
  constexpr size_t kBytes = 8 << 20;
  void* const memory = sycl::aligned_alloc_device(64, kBytes, queue);
  for (int i = 0; i < 3; ++i) {
    sycl::event filled = queue.memset(memory, i, kBytes);
    EXPECT_EQ(filled.get_info<sycl::info::event::command_execution_status>(),
              sycl::info::event_command_status::complete);
  }
  sycl::free(memory, queue);
}

TEST_F(CallerQueue, ProgramsAreCompleteOnReturn) {
  auto add = LoadAdd(64);
  auto x = Ones(64);
  const int64_t tickets = TicketsOf([&] {
    for (int i = 0; i < 20; ++i) {
      x = RunProgram(*add, {x, x})[0];
      EXPECT_TRUE(x->ready()->IsKnown());
    }
  });
  EXPECT_EQ(tickets, 0);
  EXPECT_THAT(ToVector<float>(*x).value(), Each(1048576.0f));
}

TEST_F(CallerQueue, DonationReusesTheAddress) {
  auto spin = LoadSpin(64);
  auto steps = FromVector(std::vector<int32_t>{3});
  auto values = FromVector(std::vector<int32_t>(64, 1));
  void* const address = values->address().value();
  EXPECT_EQ(TicketsOf([&] {
              EXPECT_EQ(RunProgram(*spin, {values, steps})[0]->address().value(), address);
            }),
            0);
  EXPECT_TRUE(values->IsDeleted());
}

// Another owner reads the old contents: they are copied first.
TEST_F(CallerQueue, DonationOfWhatIsReadCopies) {
  auto spin = LoadSpin(64);
  auto steps = FromVector(std::vector<int32_t>{0});
  auto values = FromVector(std::vector<int32_t>(64, 5));
  auto view = values->PrefixView(std::vector<int64_t>{8}).value();
  auto results = RunProgram(*spin, {values, steps});
  EXPECT_NE(results[0]->address().value(), view->address().value());
  EXPECT_THAT(ToVector<int32_t>(*view).value(), Each(5));
}

// What the launcher has yet to submit is not overtaken.
TEST_F(CallerQueue, FollowsTheLauncher) {
  auto loop = LoadLoop(-1);
  auto count = LoadLoop(3);
  auto limit = FromVector(std::vector<int32_t>{20'000});
  auto looped = RunProgram(*loop, {FromVector(std::vector<int32_t>{0}), limit});
  auto counted = RunProgram(*count, {looped[0], limit});
  EXPECT_THAT(ToVector<int32_t>(*counted[0]).value(), ElementsAre(20'003));
}

// What is on the device's queue neither, even if it is not an operand.
TEST_F(CallerQueue, GoesBehindOtherWork) {
  auto loop = LoadLoop(-1);
  auto add = LoadAdd(64);
  auto x = Ones(64);
  auto limit = FromVector(std::vector<int32_t>{20'000});
  auto looped = RunProgram(*loop, {FromVector(std::vector<int32_t>{0}), limit});
  std::vector<std::shared_ptr<Buffer>> sum;
  EXPECT_EQ(TicketsOf([&] { sum = RunProgram(*add, {x, x}); }), 1);
  EXPECT_THAT(ToVector<float>(*sum[0]).value(), Each(2.0f));
  EXPECT_THAT(ToVector<int32_t>(*looped[0]).value(), ElementsAre(20'000));
}

// What a trial left on the device's queue is tried again.
TEST_F(CallerQueue, WorkThatRestsComesBack) {
  auto cost_model = std::make_shared<RunCostModel>(/*estimated_nanoseconds=*/15'000);
  cost_model->AllowCaller(/*always=*/false);
  for (int i = 0; i < 256; ++i) cost_model->ObserveBehindOthers();
  ASSERT_FALSE(cost_model->wants_idle_device());
  const auto submit = [&] {
    Submission submission(Device());
    absl::MutexLock lock(&Device().submission_mutex());
    SubmitOptions options;
    options.cost_model = cost_model.get();
    options.keep_alive = cost_model;
    submission.Submit(std::move(options), [](sycl::queue&) { return absl::OkStatus(); });
  };
  EXPECT_EQ(TicketsOf([&] {
              for (int i = 0; i < 128; ++i) submit();
            }),
            128);
  EXPECT_TRUE(cost_model->wants_idle_device());
  EXPECT_TRUE(cost_model->wants_time());
  ASSERT_TRUE(Device().Synchronize().ok());
}

// Of handlers that promise to use nothing but the queue that they are given.
TEST_F(CallerQueue, LaunchesAreCompleteOnReturn) {
  for (const bool follows_queue : {true, false}) {
    FfiHandler handler;
    handler.name = follows_queue ? "test.copy" : "test.copy_somewhere";
    handler.execute = kCopy;
    handler.traits = follows_queue ? kHandlerFollowsQueue : 0;
    HandlerRegistry& handlers = Device().client()->handlers();
    ASSERT_TRUE(handlers.Register(handler).ok());
    auto x = FromVector(std::vector<float>{1, 2, 3});
    const LaunchResultType type{x->shape()};
    EXPECT_EQ(
        TicketsOf([&] {
          for (int i = 0; i < 20; ++i) {
            x = Launch(**handlers.Find(handler.name), &Device(), {x}, {type}, nullptr).value()[0];
            EXPECT_TRUE(!follows_queue || x->ready()->IsKnown());
          }
        }),
        follows_queue ? 0 : 20);
    EXPECT_THAT(ToVector<float>(*x).value(), ElementsAre(1, 2, 3));
  }
}

TEST_F(CallerQueue, PoisonSpreads) {
  auto add = LoadAdd(8);
  auto bad = Buffer::Poisoned(absl::DataLossError("gone"), Ones(8)->shape(), TestMemory());
  auto results = RunProgram(*add, {Ones(8), bad});
  EXPECT_EQ(results[0]->ready()->Await().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(ToVector<float>(*RunProgram(*add, {Ones(8), Ones(8)})[0]).value(), Each(2.0f));
}

TEST_F(CallerQueue, SmallCopiesTakeNoTicket) {
  const Ticket to_device = Device().host_to_device().reserved();
  const Ticket to_host = Device().device_to_host().reserved();
  auto x = Ones(64);
  EXPECT_TRUE(x->ready()->IsKnown());
  EXPECT_THAT(ToVector<float>(*x).value(), Each(1.0f));
  EXPECT_EQ(Device().host_to_device().reserved(), to_device);
  EXPECT_EQ(Device().device_to_host().reserved(), to_host);
  auto large = Ones(1 << 20);
  EXPECT_EQ(Device().host_to_device().reserved(), to_device + 1);
  EXPECT_THAT(ToVector<float>(*large).value(), Each(1.0f));
}

TEST_F(CallerQueue, ThreadsTakeTurns) {
  auto add = LoadAdd(256);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int run = 0; run < 50; ++run) {
        auto x = FromVector(std::vector<float>(256, static_cast<float>(t + 1)));
        for (int i = 0; i < 5; ++i) x = RunProgram(*add, {x, x})[0];
        EXPECT_THAT(ToVector<float>(*x).value(), Each(32.0f * (t + 1)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace onexpu
