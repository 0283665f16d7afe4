// Programs on the device: results, aliases, state, loops, poison, asynchrony, order through the
// launcher.
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pjrt_core/runtime/buffer/buffer.h"
#include "pjrt_core/runtime/program/loaded_program.h"
#include "pjrt_core/runtime/sycl_device/sycl_device.h"
#include "tests/runtime/test_program.h"

namespace onexpu {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

constexpr int64_t kSpinSize = 64;

double Milliseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

// Steps of spin that keep the device busy for about 50 ms.
int32_t SlowCount() {
  static const int32_t count = [] {
    auto spin = LoadSpin(kSpinSize);
    constexpr int32_t kTrial = 1'000'000;
    auto values = FromVector(std::vector<int32_t>(kSpinSize, 1));
    auto steps = FromVector(std::vector<int32_t>{kTrial});
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
      const auto start = Clock::now();
      auto results = RunProgram(*spin, {values, steps}, {.non_donatable_arguments = {0}});
      EXPECT_TRUE(results[0]->ready()->Await().ok());
      best = std::min(best, Milliseconds(Clock::now() - start));
    }
    return static_cast<int32_t>(kTrial * std::max(1.0, 50.0 / best));
  }();
  return count;
}

std::shared_ptr<Buffer> SlowSteps() { return FromVector(std::vector<int32_t>{SlowCount()}); }

TEST(Execute, AddsTwoArrays) {
  auto add = LoadAdd(1000);
  std::vector<float> a(1000);
  std::iota(a.begin(), a.end(), 0.0f);
  auto x = FromVector(a);
  auto results = RunProgram(*add, {x, x});
  ASSERT_EQ(results.size(), 1);
  std::vector<float> sum = ToVector<float>(*results[0]).value();
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(sum[i], 2.0f * i);
}

TEST(Execute, ReturnsWhileTheDeviceWorks) {
  auto spin = LoadSpin(kSpinSize);
  auto steps = SlowSteps();
  auto values = FromVector(std::vector<int32_t>(kSpinSize, 1));
  const auto start = Clock::now();
  auto results = RunProgram(*spin, {values, steps});
  const double call = Milliseconds(Clock::now() - start);
  EXPECT_FALSE(results[0]->ready()->IsReady());
  ASSERT_TRUE(results[0]->ready()->Await().ok());
  EXPECT_LT(call, 1.0);
  EXPECT_GT(Milliseconds(Clock::now() - start), 20.0);
}

// Frameworks register callbacks as they dispatch: that must not wait either, however cheap the
// Program looks.
TEST(Execute, CallbacksDoNotWaitForTheDevice) {
  auto spin = LoadSpin(kSpinSize);
  auto steps = SlowSteps();
  for (int run = 0; run < 3; ++run) {
    auto values = FromVector(std::vector<int32_t>(kSpinSize, 1));
    auto finished = Event::Create();
    auto results = RunProgram(*spin, {values, steps});
    results[0]->ready()->OnReady([finished](const absl::Status& s) { finished->Complete(s); });
    // Not a time: a busy machine delays the call, but the work is still running when it returns.
    EXPECT_FALSE(finished->IsKnown());
    ASSERT_TRUE(finished->Await().ok());
  }
}

TEST(Execute, ChainsWithoutWaiting) {
  auto add = LoadAdd(64);
  auto x = FromVector(std::vector<float>(64, 1.0f));
  for (int i = 0; i < 20; ++i) x = RunProgram(*add, {x, x})[0];
  EXPECT_THAT(ToVector<float>(*x).value(), Each(1048576.0f));
}

TEST(Execute, DonationReusesTheAddress) {
  auto spin = LoadSpin(kSpinSize);
  auto steps = FromVector(std::vector<int32_t>{3});
  auto values = FromVector(std::vector<int32_t>(kSpinSize, 1));
  void* const address = values->address().value();
  auto results = RunProgram(*spin, {values, steps});
  EXPECT_EQ(results[0]->address().value(), address);
  EXPECT_TRUE(values->IsDeleted());
  auto again = spin->Execute({{values, steps}}, nullptr, {}, false);
  EXPECT_EQ(again.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(again.status().message(), HasSubstr("deleted or donated"));
}

TEST(Execute, KeepsWhatMayNotBeDonated) {
  auto spin = LoadSpin(kSpinSize);
  auto steps = FromVector(std::vector<int32_t>{3});
  auto values = FromVector(std::vector<int32_t>(kSpinSize, 1));
  auto results = RunProgram(*spin, {values, steps}, {.non_donatable_arguments = {0}});
  EXPECT_NE(results[0]->address().value(), values->address().value());
  EXPECT_THAT(ToVector<int32_t>(*values).value(), Each(1));
  const std::vector<int32_t> once = ToVector<int32_t>(*results[0]).value();
  EXPECT_THAT(once, Each(once[0]));
  EXPECT_NE(once[0], 1);
}

TEST(Execute, DonationWithALiveViewCopies) {
  auto spin = LoadSpin(kSpinSize);
  auto steps = FromVector(std::vector<int32_t>{3});
  auto values = FromVector(std::vector<int32_t>(kSpinSize, 1));
  auto view = values->PrefixView({4}).value();
  auto results = RunProgram(*spin, {values, steps});
  EXPECT_TRUE(values->IsDeleted());
  EXPECT_THAT(ToVector<int32_t>(*view).value(), ElementsAre(1, 1, 1, 1));
  EXPECT_NE(results[0]->address().value(), view->address().value());
}

TEST(Execute, DonationOfAnExportedBufferCopies) {
  auto spin = LoadSpin(kSpinSize);
  auto steps = FromVector(std::vector<int32_t>{3});
  auto values = FromVector(std::vector<int32_t>(kSpinSize, 1));
  void* const address = values->address().value();
  ASSERT_TRUE(values->AcquireExternalReference().ok());
  auto results = RunProgram(*spin, {values, steps});
  EXPECT_NE(results[0]->address().value(), address);
  EXPECT_TRUE(values->ReleaseExternalReference().ok());
  EXPECT_FALSE(values->ReleaseExternalReference().ok());
}

TEST(Execute, MemoryThatAnotherArgumentReadsIsNotOverwritten) {
  TestProgram builder(TestDevice());
  const uint32_t a = builder.Parameter(program::ElementType::F32, {64});
  const uint32_t b = builder.Parameter(program::ElementType::F32, {64});
  builder.AliasResult(a);
  // Twice in place: reads of b must not see the first sum.
  builder.Add(builder.Kernel("add", 64, {a, b, a}));
  builder.Add(builder.Kernel("add", 64, {a, b, a}));
  auto program = builder.Load();
  auto x = FromVector(std::vector<float>(64, 1.0f));
  auto alias = x->Alias(x->shape()).value();
  auto results = RunProgram(*program, {x, alias});
  EXPECT_THAT(ToVector<float>(*results[0]).value(), Each(3.0f));
  EXPECT_THAT(ToVector<float>(*alias).value(), Each(1.0f));
}

TEST(Execute, DonatingABufferThatIsAnotherArgumentIsAnError) {
  TestProgram builder(TestDevice());
  const uint32_t a = builder.Parameter(program::ElementType::F32, {64});
  const uint32_t b = builder.Parameter(program::ElementType::F32, {64});
  builder.AliasResult(a);
  builder.Add(builder.Kernel("add", 64, {a, b, a}));
  auto program = builder.Load();
  auto x = FromVector(std::vector<float>(64, 1.0f));
  auto status = program->Execute({{x, x}}, nullptr, {}, false).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("donates a buffer that is also argument 1"));
  EXPECT_THAT(ToVector<float>(*x).value(), Each(1.0f));
}

TEST(Execute, DonatingOneBufferTwiceIsAnError) {
  TestProgram builder(TestDevice());
  const uint32_t a = builder.Parameter(program::ElementType::F32, {64});
  const uint32_t b = builder.Parameter(program::ElementType::F32, {64});
  builder.AliasResult(a);
  builder.AliasResult(b);
  auto program = builder.Load();
  auto x = FromVector(std::vector<float>(64, 1.0f));
  auto status = program->Execute({{x, x}}, nullptr, {}, false).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("donated twice"));
  EXPECT_THAT(ToVector<float>(*x).value(), Each(1.0f));
}

TEST(Execute, ConstantsTemporariesAndState) {
  TestProgram builder(TestDevice());
  const std::vector<float> constant(8, 10.0f);
  std::vector<uint8_t> bytes(sizeof(float) * 8);
  std::memcpy(bytes.data(), constant.data(), bytes.size());
  const uint32_t a = builder.Parameter(program::ElementType::F32, {8});
  const uint32_t c = builder.Constant(bytes);
  const uint32_t t = builder.Temporary(32);
  const uint32_t counter = builder.State(4);
  const uint32_t sum = builder.Result(program::ElementType::F32, {8});
  const uint32_t count = builder.Result(program::ElementType::S32, {1});
  builder.Add(builder.Kernel("add", 8, {a, c, t}));
  builder.Add(builder.Kernel("add", 8, {t, c, sum}));
  builder.Add(builder.Kernel("increment", 1, {counter}));
  builder.Add(builder.Copy(counter, count));
  auto program = builder.Load();
  auto x = FromVector(std::vector<float>(8, 1.0f));
  for (int run = 1; run <= 3; ++run) {
    auto results = RunProgram(*program, {x});
    EXPECT_THAT(ToVector<float>(*results[0]).value(), Each(21.0f));
    EXPECT_THAT(ToVector<int32_t>(*results[1]).value(), ElementsAre(run));
  }
}

TEST(Execute, CountedLoop) {
  auto loop = LoadLoop(17);
  auto limit = FromVector(std::vector<int32_t>{0});
  auto results = RunProgram(*loop, {FromVector(std::vector<int32_t>{5}), limit});
  EXPECT_THAT(ToVector<int32_t>(*results[0]).value(), ElementsAre(22));
}

TEST(Execute, DataDependentLoopRunsBehindTheCall) {
  auto loop = LoadLoop(-1);
  auto limit = FromVector(std::vector<int32_t>{100});
  auto results = RunProgram(*loop, {FromVector(std::vector<int32_t>{5}), limit});
  EXPECT_THAT(ToVector<int32_t>(*results[0]).value(), ElementsAre(100));
}

// Work that comes after a blocking Program follows it, and sees what it made.
TEST(Execute, OrderGoesThroughTheLauncher) {
  auto spin = LoadSpin(kSpinSize);
  auto loop = LoadLoop(-1);
  auto count = LoadLoop(3);
  auto slow = RunProgram(*spin, {FromVector(std::vector<int32_t>(kSpinSize, 1)), SlowSteps()});
  auto limit = FromVector(std::vector<int32_t>{50});
  auto looped = RunProgram(*loop, {FromVector(std::vector<int32_t>{0}), limit});
  auto counted = RunProgram(*count, {looped[0], limit});
  auto read = std::vector<int32_t>(1);
  auto copied = counted[0]->ToHost(read.data(), {}, Origin::kUnknown);
  EXPECT_FALSE(copied->IsKnown());  // nothing waited for the 50 ms before it
  ASSERT_TRUE(copied->Await().ok());
  EXPECT_THAT(read, ElementsAre(53));
  EXPECT_TRUE(slow[0]->ready()->Await().ok());
}

// Periodic polling also sees the completion.
TEST(Execute, PollingSeesTheEnd) {
  auto add = LoadAdd(8);
  auto x = FromVector(std::vector<float>(8, 1.0f));
  auto results = RunProgram(*add, {x, x});
  const auto start = Clock::now();
  while (!results[0]->ready()->IsReady()) {
    ASSERT_LT(Milliseconds(Clock::now() - start), 10'000.0);
    std::this_thread::yield();
  }
}

std::shared_ptr<LoadedProgram> LoadConditional(bool is_pred) {
  TestProgram builder(TestDevice());
  const auto type = is_pred ? program::ElementType::Pred : program::ElementType::S32;
  const uint32_t selector = builder.Parameter(type, {1});
  const uint32_t value = builder.Parameter(program::ElementType::S32, {1});
  builder.AliasResult(value);
  program::ConditionalThunkT conditional;
  conditional.selector = std::make_unique<program::Slice>(builder.Whole(selector));
  conditional.selector_is_pred = is_pred;
  for (int branch = 1; branch <= 3 - is_pred; ++branch) {
    auto sequence = std::make_unique<program::ThunkSequenceT>();
    for (int i = 0; i < branch; ++i) {
      sequence->thunks.push_back(builder.Kernel("increment", 1, {value}));
    }
    conditional.branches.push_back(std::move(sequence));
  }
  auto thunk = TestProgram::Named("conditional");
  thunk->kind.Set(std::move(conditional));
  builder.Add(std::move(thunk));
  return builder.Load();
}

TEST(Execute, ConditionalByIndexClamps) {
  auto program = LoadConditional(false);
  for (auto [index, expected] : {std::pair{0, 1}, {1, 2}, {2, 3}, {-1, 3}, {7, 3}}) {
    auto results = RunProgram(
        *program, {FromVector(std::vector<int32_t>{index}), FromVector(std::vector<int32_t>{0})});
    EXPECT_THAT(ToVector<int32_t>(*results[0]).value(), ElementsAre(expected)) << index;
  }
}

TEST(Execute, ConditionalByPredicate) {
  auto program = LoadConditional(true);
  for (bool value : {true, false}) {
    const uint8_t byte = value;
    auto selector = Buffer::FromHost(&byte, ArrayShape::RowMajor(program::ElementType::Pred, {1}),
                                     {}, HostBufferSemantics::kImmutableOnlyDuringCall,
                                     TestMemory(), Origin::kUnknown, {})
                        .value();
    auto results = RunProgram(*program, {selector, FromVector(std::vector<int32_t>{0})});
    EXPECT_THAT(ToVector<int32_t>(*results[0]).value(), ElementsAre(value ? 1 : 2));
  }
}

TEST(Execute, PoisonSpreads) {
  auto add = LoadAdd(8);
  auto good = FromVector(std::vector<float>(8, 1.0f));
  auto bad = Buffer::Poisoned(absl::DataLossError("gone"), good->shape(), TestMemory());
  auto results = RunProgram(*add, {good, bad});
  auto more = RunProgram(*add, {good, results[0]});
  EXPECT_EQ(more[0]->ready()->Await().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(ToVector<float>(*more[0]).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(ToVector<float>(*RunProgram(*add, {good, good})[0]).value(), Each(2.0f));
}

TEST(Execute, ChecksItsArguments) {
  auto add = LoadAdd(8);
  auto x = FromVector(std::vector<float>(8, 1.0f));
  auto longer = FromVector(std::vector<float>(9, 1.0f));
  auto other = FromVector(std::vector<int32_t>(8, 1));
  auto status = [&](std::vector<std::shared_ptr<Buffer>> arguments) {
    return add->Execute(arguments, nullptr, {}, false).status();
  };
  EXPECT_EQ(status({x}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status({x, longer}).message(), HasSubstr("argument 1"));
  EXPECT_THAT(status({other, x}).message(), HasSubstr("argument 0"));
  EXPECT_TRUE(status({x, x}).ok());
}

TEST(Execute, RunsOutOfMemoryCleanly) {
  TestProgram builder(TestDevice());
  const uint32_t a = builder.Parameter(program::ElementType::F32, {8});
  builder.Temporary(uint64_t{1} << 44);
  builder.AliasResult(a);
  auto program = builder.Load();
  auto x = FromVector(std::vector<float>(8, 1.0f));
  auto status = program->Execute({{x}}, nullptr, {}, false).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("bytes requested"));
  EXPECT_FALSE(x->IsDeleted());
  EXPECT_THAT(ToVector<float>(*x).value(), Each(1.0f));
}

TEST(Execute, MissingKernelsAndThunksAreErrorsAtLoad) {
  TestProgram builder(TestDevice());
  const uint32_t a = builder.Parameter(program::ElementType::F32, {8});
  builder.Add(builder.Kernel("no_such_kernel", 8, {a}));
  auto status = TestClient()->Load(builder.Finish(), {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("no_such_kernel"));

  TestProgram wrong(TestDevice());
  const uint32_t b = wrong.Parameter(program::ElementType::F32, {8});
  wrong.Add(wrong.Kernel("add", 8, {b}));
  EXPECT_EQ(TestClient()->Load(wrong.Finish(), {}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace onexpu
