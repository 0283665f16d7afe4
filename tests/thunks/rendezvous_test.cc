#include "pjrt_core/thunks/collective/rendezvous.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onexpu {
namespace {

using ::testing::HasSubstr;
using Purpose = Rendezvous::Purpose;

constexpr char kMemory[64] = {};
constexpr int kKey = 0;

// Meets as the member at `place`, and checks what it is given.
absl::Status Meet(Rendezvous& rendezvous, const std::vector<uint32_t>& group, size_t place,
                  Purpose purpose = Purpose::kShare) {
  const auto messages =
      rendezvous.Meet(&kKey, purpose, group, place, {kMemory + group[place], std::nullopt});
  if (!messages.ok()) return messages.status();
  for (size_t i = 0; i < group.size(); ++i) {
    if ((*messages)[i].address != kMemory + group[i]) return absl::UnknownError("message");
  }
  return absl::OkStatus();
}

TEST(Rendezvous, TwoGroupsMeetAgainAndAgain) {
  Rendezvous rendezvous(4);
  const std::vector<std::vector<uint32_t>> groups = {{2, 0}, {1, 3}};
  std::vector<std::thread> threads;
  for (const std::vector<uint32_t>& group : groups) {
    for (size_t place = 0; place < group.size(); ++place) {
      threads.emplace_back([&rendezvous, &group, place] {
        for (int round = 0; round < 500; ++round) {
          EXPECT_EQ(Meet(rendezvous, group, place), absl::OkStatus());
          EXPECT_EQ(Meet(rendezvous, group, place, Purpose::kFinish), absl::OkStatus());
        }
        rendezvous.Leave(group[place], absl::OkStatus());
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Rendezvous, AFailureElsewhereEndsTheWaiting) {
  Rendezvous rendezvous(3);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    rendezvous.Leave(2, absl::DataLossError("it broke"));
  });
  const absl::Status status = Meet(rendezvous, {0, 1}, 0);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("it broke"));
  other.join();
  // The first has gone with its memory: the second must not believe that they met.
  EXPECT_EQ(Meet(rendezvous, {0, 1}, 1).code(), absl::StatusCode::kDataLoss);
}

TEST(Rendezvous, WhoEndsWithoutTheExchangeIsNamed) {
  Rendezvous rendezvous(2);
  rendezvous.Leave(1, absl::OkStatus());
  const absl::Status status = Meet(rendezvous, {0, 1}, 0);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("participant 1 has ended its run"));
}

TEST(Rendezvous, FinishingWaitsForThoseWhoAreThere) {
  Rendezvous rendezvous(3);
  bool has_finished = false;
  std::thread slow([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    has_finished = true;
    rendezvous.Leave(2, absl::OkStatus());
  });
  // A failure does not end it: the others may still read this one's memory.
  rendezvous.Leave(1, absl::DataLossError("it broke"));
  const auto messages = rendezvous.Meet(&kKey, Purpose::kFinish, std::vector<uint32_t>{0, 1, 2}, 0,
                                        {kMemory, std::nullopt});
  slow.join();
  EXPECT_TRUE(has_finished);
  ASSERT_TRUE(messages.ok());
  EXPECT_EQ((*messages)[0].address, kMemory);
  EXPECT_EQ((*messages)[1].address, nullptr);
}

}  // namespace
}  // namespace onexpu
