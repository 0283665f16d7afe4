// What the environment makes of the devices. Each case runs in a process of its own: the client is
// one per process.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pjrt_core/base/environment.h"
#include "pjrt_core/ffi/registry.h"
#include "pjrt_core/program/program_generated.h"
#include "pjrt_core/runtime/client.h"
#include "pjrt_core/runtime/program/launch.h"
#include "tests/runtime/test_program.h"

namespace onexpu {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using Variables = std::vector<std::pair<const char*, const char*>>;

// The text that `body` gives in a process with these variables. SYCL must not have been used in
// this one.
std::string InProcess(const Variables& variables, const std::function<std::string()>& body) {
  int pipe_ends[2];
  EXPECT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    for (const auto& [name, value] : variables) {
      if (value == nullptr) {
        unsetenv(name);
      } else {
        setenv(name, value, 1);
      }
    }
    const std::string text = body();
    const ssize_t written = write(pipe_ends[1], text.data(), text.size());
    _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(pipe_ends[1]);
  std::string text;
  char part[4096];
  for (ssize_t size; (size = read(pipe_ends[0], part, sizeof(part))) > 0;) text.append(part, size);
  close(pipe_ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << text;
  return text;
}

std::string ClientError() { return Client::Get().status().ToString(); }

TEST(Devices, FindsTheCpuDriverByItself) {
  const std::string text = InProcess({{"OCL_ICD_FILENAMES", nullptr}}, [] {
    if (absl::Status probe = Client::Probe(); !probe.ok()) return probe.ToString();
    auto client = Client::Get().value();
    return std::string(client->devices()[0]->debug_string()) + "|" +
           std::string(client->platform_version());
  });
  EXPECT_THAT(text, HasSubstr("xpu:0 (oneAPI CPU: "));
  EXPECT_THAT(text, HasSubstr("|onexpu 0.1.0; "));
}

TEST(Devices, NothingFoundSaysWhatWasSearched) {
  for (const Variables& variables :
       {Variables{{"ONEXPU_DEVICE", "gpu"}}, Variables{{"ONEAPI_DEVICE_SELECTOR", "level_zero:*"}},
        Variables{{"OCL_ICD_FILENAMES", "/nowhere.so"}, {"OCL_ICD_VENDORS", "/nowhere"}}}) {
    for (const auto& body :
         {std::function<std::string()>(ClientError),
          std::function<std::string()>([] { return Client::Probe().ToString(); })}) {
      const std::string text = InProcess(variables, body);
      EXPECT_THAT(text, HasSubstr("NOT_FOUND"));
      EXPECT_THAT(text, HasSubstr("Searched"));
      const bool wants_gpu = absl::string_view(variables[0].first) == "ONEXPU_DEVICE";
      EXPECT_THAT(
          text, HasSubstr(wants_gpu ? "Intel's Level Zero driver" : "pip install intel-opencl-rt"));
    }
  }
}

TEST(Devices, BadVariablesAreNamed) {
  EXPECT_THAT(InProcess({{"ONEXPU_DEVICE", "tpu"}}, ClientError), HasSubstr("ONEXPU_DEVICE=tpu"));
  EXPECT_THAT(InProcess({{"ONEXPU_SCHEDULES", "fast"}}, ClientError),
              HasSubstr("ONEXPU_SCHEDULES=fast"));
  EXPECT_THAT(InProcess({{"ONEXPU_MEMORY_LIMIT", "much"}}, ClientError),
              HasSubstr("ONEXPU_MEMORY_LIMIT=much"));
  EXPECT_THAT(InProcess({{"ONEXPU_NUM_CPU_DEVICES", "0"}}, ClientError),
              HasSubstr("ONEXPU_NUM_CPU_DEVICES=0"));
  EXPECT_THAT(InProcess({{"ONEXPU_NUM_CPU_DEVICES", "5000"}}, ClientError),
              HasSubstr("5000 CPU devices were asked for"));
  EXPECT_THAT(InProcess({{"XLA_CLIENT_MEM_FRACTION", "2"}}, ClientError),
              HasSubstr("XLA_CLIENT_MEM_FRACTION=2 is not understood"));
  EXPECT_THAT(
      InProcess({{"XLA_CLIENT_MEM_FRACTION", "0.5"}, {"XLA_PYTHON_CLIENT_MEM_FRACTION", "0.5"}},
                ClientError),
      HasSubstr("both XLA_CLIENT_MEM_FRACTION and XLA_PYTHON_CLIENT_MEM_FRACTION are set"));
}

TEST(Devices, TheCpuCountsAsTwo) {
  const std::string text = InProcess({{"ONEXPU_NUM_CPU_DEVICES", "2"}}, [] {
    auto client = Client::Get().value();
    if (client->devices().size() != 2) return std::string("devices");
    Device* first = client->devices()[0];
    Device* second = client->devices()[1];
    auto x = FromVector(std::vector<float>(64, 3.0f));
    if (x->device() != first) return std::string("placement");
    auto there = x->CopyTo(second->memory(MemoryKind::kDevice), Origin::kJax).value();

    TestProgram program(first);
    const uint32_t a = program.Parameter(program::ElementType::F32, {64});
    const uint32_t sum = program.Result(program::ElementType::F32, {64});
    program.Add(program.Kernel("add", 64, {a, a, sum}));
    auto loaded = client->Load(program.Finish(), {0, 1}).value();
    auto here = loaded->Execute({{x}}, first, {}, false).value().results[0];
    auto result = loaded->Execute({{there}}, second, {}, false).value().results[0];
    if (result->device() != second) return std::string("result placement");
    auto wrong = loaded->Execute({{x}}, second, {}, false).status();
    if (wrong.code() != absl::StatusCode::kInvalidArgument) return wrong.ToString();
    if (ToVector<float>(*here).value() != std::vector<float>(64, 6.0f)) return std::string("first");
    if (ToVector<float>(*result).value() != std::vector<float>(64, 6.0f)) {
      return std::string("second");
    }
    return std::string("ok");
  });
  EXPECT_EQ(text, "ok");
}

TEST(Devices, TheCpuCountsAsMoreDevicesThanItHasUnits) {
  const std::string text = InProcess({{"ONEXPU_NUM_CPU_DEVICES", "200"}}, [] {
    auto client = Client::Get({.num_cpu_devices = 3}).value();
    return std::to_string(client->devices().size()) +
           std::string(client->devices().back()->debug_string());
  });
  EXPECT_THAT(text, HasSubstr("200xpu:199"));
  EXPECT_EQ(InProcess({{"ONEXPU_NUM_CPU_DEVICES", nullptr}},
                      [] {
                        auto client = Client::Get({.num_cpu_devices = 3}).value();
                        return std::to_string(client->devices().size());
                      }),
            "3");
}

TEST(Devices, GpuSchedulesOnTheCpu) {
  auto schedules = [] {
    const auto* target =
        flatbuffers::GetRoot<program::TargetDescription>(TestDevice()->target_description().data());
    return std::string(program::EnumNameScheduleSet(target->schedules())) +
           program::EnumNameDeviceKind(target->device_kind());
  };
  EXPECT_EQ(InProcess({}, schedules), "CpuCpu");
  EXPECT_EQ(InProcess({{"ONEXPU_SCHEDULES", "gpu"}}, schedules), "GpuCpu");
}

TEST(Devices, MemoryLimit) {
  const std::string text = InProcess({{"ONEXPU_MEMORY_LIMIT", "64M"}}, [] {
    const ArrayShape large = ArrayShape::RowMajor(program::ElementType::F32, {17 << 20});
    auto kept = FromVector(std::vector<float>(1000, 1.0f));
    absl::Status status = Buffer::Uninitialized(large, TestMemory()).status();
    if (ToVector<float>(*kept).value() != std::vector<float>(1000, 1.0f))
      return std::string("lost");
    return status.ToString();
  });
  EXPECT_THAT(text, HasSubstr("RESOURCE_EXHAUSTED"));
  EXPECT_THAT(text, HasSubstr("limit 67108864"));
}

// Has its thread, the launcher, for a while.
XLA_FFI_Error* Sleep(XLA_FFI_CallFrame* frame) {
  if (AnswersMetadata(frame)) return nullptr;
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  return nullptr;
}

std::shared_ptr<LoadedProgram> LoadTemporary(uint64_t bytes) {
  TestProgram builder(TestDevice());
  builder.Temporary(bytes);
  builder.program().blocking = true;
  return builder.Load();
}

// What waits for the launcher has its memory in the order of the queue, as what runs at once. What
// finds no memory waits for the launcher.
TEST(Devices, RunsThatWaitForTheLauncherShareMemory) {
  constexpr int64_t kMiB = int64_t{1} << 20;
  const std::string text = InProcess({{"ONEXPU_MEMORY_LIMIT", "64M"}}, [] {
    FfiHandler handler;
    handler.name = "test.sleep";
    handler.execute = Sleep;
    handler.traits = kHandlerHostOperands;
    if (!TestClient()->handlers().Register(handler).ok()) return std::string("not registered");
    auto sleep = [&] {
      Launch(*TestClient()->handlers().Find("test.sleep").value(), TestDevice(), {}, {}, nullptr)
          .IgnoreError();
    };
    auto middling = LoadTemporary(24 * kMiB), large = LoadTemporary(48 * kMiB);
    sleep();
    for (int run = 0; run < 8; ++run) {
      absl::Status status = middling->Execute({}, nullptr, {}, false).status();
      if (!status.ok()) return "the same: " + status.ToString();
    }
    if (TestDevice()->memory_statistics().pool_bytes > 32 * kMiB) return std::string("not shared");
    absl::Status status = large->Execute({}, nullptr, {}, false).status();
    if (!status.ok()) return "a run: " + status.ToString();
    sleep();
    status = middling->Execute({}, nullptr, {}, false).status();
    if (!status.ok()) return "a run after: " + status.ToString();
    const std::vector<float> values(12 * kMiB, 1.0f);
    status = Buffer::FromHost(
                 values.data(), ArrayShape::RowMajor(program::ElementType::F32, {12 * kMiB}), {},
                 HostBufferSemantics::kImmutableOnlyDuringCall, TestMemory(), Origin::kUnknown, {})
                 .status();
    return status.ok() ? std::string("fine") : "a copy: " + status.ToString();
  });
  EXPECT_EQ(text, "fine");
}

TEST(Devices, MemoryThatTheHostDoesNotHaveIsRefused) {
  // Without a limit of ours: the CPU device would take it and the process would be killed on
  // touching it.
  const std::string text = InProcess({}, [] {
    const int64_t floats = static_cast<int64_t>(HostMemoryBytes() / 4);
    return Buffer::Uninitialized(ArrayShape::RowMajor(program::ElementType::F32, {floats}),
                                 TestMemory())
        .status()
        .ToString();
  });
  EXPECT_THAT(text, HasSubstr("RESOURCE_EXHAUSTED"));
}

TEST(Devices, AForkedChildIsTold) {
  const std::string text = InProcess({}, [] {
    auto add = LoadAdd(8);
    auto x = FromVector(std::vector<float>(8, 1.0f));
    const std::string inner = InProcess({}, [&] {
      float values[8];
      return ClientError() + add->Execute({{x, x}}, nullptr, {}, false).status().ToString() +
             x->ToHost(values, {}, Origin::kUnknown)->Await().ToString();
    });
    auto sum = ToVector<float>(*RunProgram(*add, {x, x})[0]).value();
    return inner + (sum[7] == 2.0f ? "parent ok" : "parent broken");
  });
  EXPECT_THAT(text, HasSubstr("FAILED_PRECONDITION: onexpu: this process was forked"));
  EXPECT_THAT(text, HasSubstr("parent ok"));
}

// The end of the process waits for the device, not the other way round.
TEST(Devices, EndsWithWorkInFlight) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    auto spin = LoadSpin(64);
    auto steps = FromVector(std::vector<int32_t>{30'000'000});
    auto values = FromVector(std::vector<int32_t>(64, 1));
    static auto* const leaked = new std::vector<std::shared_ptr<Buffer>>;
    *leaked = RunProgram(*spin, {values, steps});
    (*leaked)[0]->ready()->OnReady([](const absl::Status&) {});
    std::exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(Devices, OneClientPerProcess) {
  EXPECT_EQ(
      InProcess({},
                [] {
                  auto one = Client::Get().value();
                  auto two = Client::Get().value();
                  const bool same = one == two;
                  Client* const raw = one.get();
                  one.reset();
                  two.reset();
                  return std::string(same && Client::Get().value().get() == raw ? "same" : "");
                }),
      "same");
}

}  // namespace
}  // namespace onexpu
