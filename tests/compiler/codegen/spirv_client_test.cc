// The worker and its client: right answers from many threads at once, and errors instead of deaths.
#include "pjrt_core/compiler/codegen/llvm/spirv_worker/spirv_client.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "pjrt_core/compiler/codegen/llvm/spirv_target.h"
#include "pjrt_core/compiler/codegen/llvm/spirv_validation.h"

namespace onexpu::compiler {
namespace {

constexpr char kWorker[] = "pjrt_core/compiler/codegen/llvm/spirv_worker/onexpu-spirv";

std::string Bitcode(const std::string& text) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(text, diagnostic, context);
  EXPECT_NE(module, nullptr) << diagnostic.getMessage().str();
  auto machine = CreateSpirvTargetMachine();
  module->setTargetTriple((*machine)->getTargetTriple());
  module->setDataLayout((*machine)->createDataLayout());
  std::string bitcode;
  llvm::raw_string_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(*module, stream);
  return bitcode;
}

std::string AddKernel(int value) {
  return Bitcode(absl::StrCat("define spir_kernel void @add", value, "(ptr addrspace(1) %p) {\n",
                              " %x = load i32, ptr addrspace(1) %p\n %y = add i32 %x, ", value,
                              "\n store i32 %y, ptr addrspace(1) %p\n ret void\n}"));
}

// SPIR-V begins with its magic number, and holds the entry point's name.
void ExpectSpirv(const absl::StatusOr<std::string>& spirv, const std::string& entry_point) {
  ASSERT_TRUE(spirv.ok()) << spirv.status();
  ASSERT_GE(spirv->size(), 20u);
  uint32_t magic = 0;
  std::memcpy(&magic, spirv->data(), sizeof(magic));
  EXPECT_EQ(magic, 0x07230203u);
  EXPECT_TRUE(absl::StrContains(*spirv, entry_point));
}

TEST(SpirvClient, EmitsTheSameBytesEveryTimeFromManyThreads) {
  std::vector<std::string> expected(4);
  for (int i = 0; i < 4; ++i) {
    auto spirv = EmitSpirvInWorker(kWorker, AddKernel(i), "");
    ExpectSpirv(spirv, absl::StrCat("add", i));
    expected[i] = *spirv;
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const std::string bitcode = AddKernel(i);
      for (int repeat = 0; repeat < 10; ++repeat) {
        auto spirv = EmitSpirvInWorker(kWorker, bitcode, "");
        ASSERT_TRUE(spirv.ok()) << spirv.status();
        EXPECT_EQ(*spirv, expected[i]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(SpirvValidation, RefusesWhatIsNoModule) {
  const auto spirv = EmitSpirvInWorker(kWorker, AddKernel(1), "");
  ASSERT_TRUE(spirv.ok()) << spirv.status();
  const std::string half = spirv->substr(0, spirv->size() / 2);
  ::setenv("ONEXPU_VERIFY_SPIRV", "1", /*overwrite=*/1);
  EXPECT_TRUE(ValidateSpirv(*spirv).ok()) << ValidateSpirv(*spirv);
  for (const std::string& bad : {half, std::string("no SPIR-V"), std::string()}) {
    EXPECT_EQ(ValidateSpirv(bad).code(), absl::StatusCode::kInternal) << bad.size();
  }
  ::unsetenv("ONEXPU_VERIFY_SPIRV");
  EXPECT_TRUE(ValidateSpirv(half).ok());
}

TEST(SpirvClient, WhatTheBackEndCannotDoIsAnErrorWithItsWords) {
  const absl::StatusOr<std::string> refused = EmitSpirvInWorker(
      kWorker,
      Bitcode("define spir_kernel void @k(ptr addrspace(1) %p) {\n %x = load i128, ptr "
              "addrspace(1) %p\n"
              " %y = udiv i128 %x, 10\n store i128 %y, ptr addrspace(1) %p\n ret void\n}"),
      "");
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(absl::StrContains(refused.status().message(), "SPIR-V back end")) << refused.status();
  EXPECT_TRUE(absl::StrContains(refused.status().message(), "the module is kept in"))
      << refused.status();
  ExpectSpirv(EmitSpirvInWorker(kWorker, AddKernel(1), ""), "add1");
}

TEST(SpirvClient, GarbageIsAnErrorToo) {
  const absl::StatusOr<std::string> refused = EmitSpirvInWorker(kWorker, "no bitcode at all", "");
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(absl::StrContains(refused.status().message(), "invalid")) << refused.status();
}

TEST(SpirvClient, AMissingWorkerIsNamed) {
  const absl::StatusOr<std::string> missing =
      EmitSpirvInWorker("/nowhere/onexpu-spirv", AddKernel(1), "");
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(absl::StrContains(missing.status().message(), "/nowhere/onexpu-spirv"))
      << missing.status();
}

// The worker's process, found as the only child of this one.
pid_t FindWorker() {
  std::ifstream children(absl::StrCat("/proc/self/task/", ::getpid(), "/children"));
  pid_t worker = -1;
  children >> worker;
  return worker;
}

TEST(SpirvClient, AKilledWorkerIsStartedAgain) {
  ExpectSpirv(EmitSpirvInWorker(kWorker, AddKernel(1), ""), "add1");
  const pid_t worker = FindWorker();
  ASSERT_GT(worker, 0);
  ASSERT_EQ(::kill(worker, SIGKILL), 0);
  siginfo_t info;
  ASSERT_EQ(::waitid(P_PID, worker, &info, WEXITED | WNOWAIT), 0);
  ExpectSpirv(EmitSpirvInWorker(kWorker, AddKernel(2), ""), "add2");
}

TEST(SpirvClient, AForkedProcessGetsAWorkerOfItsOwn) {
  const std::string bitcode = AddKernel(3);
  ExpectSpirv(EmitSpirvInWorker(kWorker, bitcode, ""), "add3");
  const pid_t child = ::fork();
  if (child == 0) ::_exit(EmitSpirvInWorker(kWorker, bitcode, "").ok() ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ExpectSpirv(EmitSpirvInWorker(kWorker, bitcode, ""), "add3");
}

TEST(SpirvWorker, EndsWithTheProcessThatStartedIt) {
  int worker_number[2];
  ASSERT_EQ(::pipe(worker_number), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool ok = EmitSpirvInWorker(kWorker, AddKernel(4), "").ok();
    const pid_t worker = FindWorker();
    const bool sent = ::write(worker_number[1], &worker, sizeof(worker)) == sizeof(worker);
    ::_exit(ok && sent ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  pid_t worker = -1;
  ASSERT_EQ(::read(worker_number[0], &worker, sizeof(worker)),
            static_cast<ssize_t>(sizeof(worker)));
  ASSERT_GT(worker, 0);
  bool gone = false;
  for (int i = 0; i < 200 && !gone; ++i) {
    // It is a zombie if no init process reaps orphans.
    std::ifstream stat(absl::StrCat("/proc/", worker, "/stat"));
    std::string number, name, state;
    gone = !(stat >> number >> name >> state) || state == "Z";
    if (!gone) ::usleep(10000);
  }
  EXPECT_TRUE(gone) << "worker " << worker << " still runs";
}

}  // namespace
}  // namespace onexpu::compiler
