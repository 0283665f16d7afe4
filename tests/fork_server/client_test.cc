// Requests, deaths of their processes and of the server.
#include "pjrt_core/fork_server/client.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onexpu::fork_server {
namespace {

using ::testing::HasSubstr;

constexpr char kServer[] = "tests/fork_server/echo_server";

Response Ask(const std::string& input) {
  absl::StatusOr<Response> response = Client::ForProgram(kServer).Send(input, "heard: ");
  EXPECT_TRUE(response.ok()) << response.status();
  return response.ok() ? *std::move(response) : Response();
}

TEST(ForkServer, AnswersManyAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([i] {
      const std::string input(1 << (2 * i), static_cast<char>('a' + i));
      for (int repeat = 0; repeat < 5; ++repeat) {
        const Response response = Ask(input);
        EXPECT_EQ(response.code, ResponseCode::kOk);
        EXPECT_EQ(response.payload, "heard: " + input);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ForkServer, TellsHowTheWorkEnded) {
  const Response crashed = Ask("crash");
  EXPECT_EQ(crashed.code, ResponseCode::kCrashed);
  EXPECT_THAT(crashed.payload, HasSubstr("ended by signal 11 (SIGSEGV): last words"));
  const Response ended = Ask("exit");
  EXPECT_EQ(ended.code, ResponseCode::kRefused);
  EXPECT_EQ(ended.payload, "no such thing");
  const Response refused = Ask("refuse");
  EXPECT_EQ(refused.code, ResponseCode::kInvalidInput);
  EXPECT_EQ(refused.payload, "not this");
  EXPECT_EQ(Ask("well").payload, "heard: well");
}

TEST(ForkServer, TriesACrashOnceMoreElsewhere) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/first_server_", ::getpid());
  const std::string input = "crash in first " + path;
  Client& client = Client::ForProgram(kServer);
  const absl::StatusOr<Response> second = client.SendTwice(input, "heard: ");
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->code, ResponseCode::kOk) << second->payload;
  EXPECT_EQ(second->payload, "heard: " + input);
  // The first server is still there, and the other one is not.
  EXPECT_EQ(Ask(input).code, ResponseCode::kCrashed);
  std::ifstream children(absl::StrCat("/proc/self/task/", ::getpid(), "/children"));
  std::vector<pid_t> servers{std::istream_iterator<pid_t>(children), {}};
  EXPECT_EQ(servers.size(), 1);
  // What crashes everywhere is told as the crash that it is.
  const absl::StatusOr<Response> crashed = client.SendTwice("crash", "");
  ASSERT_TRUE(crashed.ok()) << crashed.status();
  EXPECT_EQ(crashed->code, ResponseCode::kCrashed);
  EXPECT_THAT(crashed->payload, HasSubstr("SIGSEGV"));
  std::remove(path.c_str());
}

TEST(ForkServer, IsStartedAgain) {
  ASSERT_TRUE(Client::ForProgram(kServer).Start().ok());
  EXPECT_EQ(Ask("one").payload, "heard: one");
  std::ifstream children(absl::StrCat("/proc/self/task/", ::getpid(), "/children"));
  pid_t server = -1;
  children >> server;
  ASSERT_GT(server, 0);
  ASSERT_EQ(::kill(server, SIGKILL), 0);
  siginfo_t info;
  ASSERT_EQ(::waitid(P_PID, server, &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(Ask("two").payload, "heard: two");
}

TEST(ForkServer, NamesAProgramThatIsMissingOrNoServer) {
  Client& missing = Client::ForProgram("/nowhere/server");
  EXPECT_EQ(missing.Start().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.Send("", "").status().message()), HasSubstr("/nowhere/server"));
  EXPECT_THAT(std::string(Client::ForProgram("/bin/true").Send("", "").status().message()),
              HasSubstr("/bin/true"));
}

}  // namespace
}  // namespace onexpu::fork_server
