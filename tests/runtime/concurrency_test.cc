// Many threads at once, and handlers that need the host: what may run where, and in which order.
#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pjrt_core/c_api/extensions/launch.h"
#include "pjrt_core/ffi/registry.h"
#include "pjrt_core/runtime/buffer/buffer.h"
#include "pjrt_core/runtime/profiler.h"
#include "pjrt_core/runtime/program/loaded_program.h"
#include "tests/runtime/test_program.h"
#include "xla/ffi/api/c_api.h"

namespace onexpu {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

TEST(Concurrency, ManyThreadsAtOnce) {
  auto add = LoadAdd(256);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&add, t] {
      auto x = FromVector(std::vector<float>(256, static_cast<float>(t)));
      for (int i = 0; i < 200; ++i) {
        auto results = RunProgram(*add, {x, x});
        if (i % 10 == 0) {
          EXPECT_THAT(ToVector<float>(*results[0]).value(), Each(2.0f * t));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Threads that create, execute (inline and through the launcher), donate, read, copy, view and
// delete at once: every value that is read back must be the one that the thread computed.
void UseAtRandomFromManyThreads() {
  constexpr int64_t kSize = 4096;
  auto add = LoadAdd(kSize);
  TestProgram builder(TestDevice());
  const uint32_t a = builder.Parameter(program::ElementType::F32, {kSize});
  const uint32_t b = builder.Parameter(program::ElementType::F32, {kSize});
  builder.AliasResult(a);
  builder.Add(builder.Kernel("add", kSize, {a, b, a}));
  auto add_in_place = builder.Load();
  auto loop = LoadLoop(-1);

  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::minstd_rand random(t + 1);
      const auto one = FromVector(std::vector<float>(kSize, 1.0f));
      float expected = static_cast<float>(t);
      auto x = FromVector(std::vector<float>(kSize, expected));
      std::vector<std::shared_ptr<Buffer>> kept;
      for (int i = 0; i < 400; ++i) {
        switch (random() % 8) {
          case 0:
          case 1:
            x = RunProgram(*add, {x, one})[0];
            expected += 1.0f;
            break;
          case 2:
          case 3:
            x = RunProgram(*add_in_place, {x, one})[0];
            expected += 1.0f;
            break;
          case 4:
            EXPECT_THAT(ToVector<float>(*x).value(), Each(expected));
            break;
          case 5:
            x = x->CopyTo(TestMemory(), Origin::kUnknown).value();
            break;
          case 6:
            kept.push_back(x->PrefixView({kSize / 2}).value());
            if (kept.size() > 5) kept.clear();
            break;
          default: {
            auto counted = RunProgram(
                *loop, {FromVector(std::vector<int32_t>{0}), FromVector(std::vector<int32_t>{3})});
            if (random() % 2 == 0) {
              EXPECT_THAT(ToVector<int32_t>(*counted[0]).value(), ElementsAre(3));
            }
          }
        }
      }
      EXPECT_THAT(ToVector<float>(*x).value(), Each(expected));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(TestDevice()->Synchronize().ok());
}

TEST(Concurrency, RandomUseFromManyThreads) { UseAtRandomFromManyThreads(); }

// The queues change while work is submitted, and the recorded commands are still in order.
TEST(Concurrency, RandomUseWhileProfiling) {
  std::atomic<bool> done{false};
  std::thread profiling([&] {
    while (!done) {
      const int64_t begin = CommandTrace::Now();
      ASSERT_TRUE(Profiler::Get().Start().ok());
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      ASSERT_TRUE(Profiler::Get().Stop().ok());
      for (const DeviceProfile& device : Profiler::Get().Collect(begin, CommandTrace::Now())) {
        for (const QueueProfile& queue : device.queues) {
          int64_t end = 0;
          for (const TimedCommand& command : queue.commands) {
            EXPECT_LE(end, command.start);
            EXPECT_LE(command.start, command.end);
            end = command.end;
          }
        }
      }
      Profiler::Get().Leave();
    }
  });
  UseAtRandomFromManyThreads();
  done = true;
  profiling.join();
}

std::thread::id handler_thread;

XLA_FFI_Error* RememberThread(XLA_FFI_CallFrame* frame) {
  if (AnswersMetadata(frame)) return nullptr;
  handler_thread = std::this_thread::get_id();
  return nullptr;
}

std::shared_ptr<LoadedProgram> LoadCall(const char* target, uint32_t traits) {
  FfiHandler handler;
  handler.name = target;
  handler.execute = RememberThread;
  handler.traits = traits;
  EXPECT_TRUE(TestClient()->handlers().Register(handler).ok());
  TestProgram builder(TestDevice());
  program::CustomCallThunkT call;
  call.target = target;
  call.has_side_effect = true;
  auto thunk = TestProgram::Named(target);
  thunk->kind.Set(std::move(call));
  builder.Add(std::move(thunk));
  return builder.Load();
}

// The Program does not say that it blocks; the handler's traits do. A callback on the caller's
// thread would run with the submission lock held.
TEST(Concurrency, HandlersOfHostOperandsRunOnTheLauncher) {
  auto direct = LoadCall("test.direct", 0);
  ASSERT_TRUE(direct->Execute({}, nullptr, {}, true).value().done->Await().ok());
  EXPECT_EQ(handler_thread, std::this_thread::get_id());
  auto host = LoadCall("test.host", ONEXPU_HANDLER_HOST_OPERANDS);
  ASSERT_TRUE(host->Execute({}, nullptr, {}, true).value().done->Await().ok());
  EXPECT_NE(handler_thread, std::this_thread::get_id());
}

}  // namespace
}  // namespace onexpu
