#include "pjrt_core/runtime/memory/memory_limit.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onexpu {
namespace {

using ::testing::HasSubstr;
constexpr size_t kGiB = size_t{1} << 30;

TEST(MemoryLimit, OfADiscreteGpuIsOfItsOwnMemory) {
  const MemoryFacts facts{.total = 100 * kGiB, .host = 10 * kGiB};
  const MemoryLimit limit = LimitOf(facts, {});
  EXPECT_EQ(limit.bytes, 92 * kGiB);
  EXPECT_EQ(limit.source, "92 % of the device's memory");
  EXPECT_EQ(limit.remedy, "");
}

TEST(MemoryLimit, LeavesWhatOtherProcessesHold) {
  MemoryFacts facts{.total = 100 * kGiB, .free = 50 * kGiB};
  const MemoryLimit limit = LimitOf(facts, {});
  EXPECT_EQ(limit.bytes, 46 * kGiB);
  EXPECT_THAT(limit.source, HasSubstr("of the 53687091200 of 107374182400 bytes that were free"));
  EXPECT_EQ(limit.remedy, "end other processes that use the device");
  facts.free = facts.total;
  EXPECT_EQ(LimitOf(facts, {}).source, "92 % of the device's memory");
}

TEST(MemoryLimit, OfHostMemoryIsShared) {
  const MemoryFacts facts{
      .total = 200 * kGiB, .is_of_host = true, .host = 100 * kGiB, .devices_on_host = 5};
  const MemoryLimit limit = LimitOf(facts, {});
  EXPECT_EQ(limit.bytes, 17 * kGiB);
  EXPECT_EQ(limit.source, "85 % of the host's memory, shared among 5 devices");
}

TEST(MemoryLimit, TakesTheFractionOfTheUser) {
  const MemoryFacts gpu{.total = 100 * kGiB, .free = 90 * kGiB};
  MemoryLimit limit = LimitOf(gpu, {.fraction = MemoryFraction{0.25, "SHARE"}});
  EXPECT_EQ(limit.bytes, 25 * kGiB);
  EXPECT_EQ(limit.source, "25 % of the device's memory (SHARE)");
  EXPECT_EQ(limit.remedy, "raise SHARE");
  // No fraction includes memory that other processes hold.
  EXPECT_THAT(LimitOf(gpu, {.fraction = MemoryFraction{1.0, "SHARE"}}).source,
              HasSubstr("free at start-up"));
  // On an idle device it is the device's memory.
  const MemoryFacts idle{.total = 100 * kGiB, .free = 100 * kGiB};
  EXPECT_EQ(LimitOf(idle, {.fraction = MemoryFraction{0.97, "SHARE"}}).bytes, 97 * kGiB);
  const MemoryFacts host{.total = 100 * kGiB, .is_of_host = true, .host = 50 * kGiB};
  EXPECT_EQ(LimitOf(host, {.fraction = MemoryFraction{0.5, "SHARE"}}).bytes, 25 * kGiB);
}

TEST(MemoryLimit, TakesTheSmallestOfAll) {
  const MemoryFacts facts{.total = 100 * kGiB, .free = 50 * kGiB};
  const MemoryLimit limit =
      LimitOf(facts, {.bytes = 10 * kGiB, .fraction = MemoryFraction{0.25, "SHARE"}});
  EXPECT_EQ(limit.bytes, 10 * kGiB);
  EXPECT_EQ(limit.source, "set by ONEXPU_MEMORY_LIMIT");
  EXPECT_EQ(limit.remedy, "raise ONEXPU_MEMORY_LIMIT");
  EXPECT_EQ(LimitOf(facts, {.bytes = 30 * kGiB, .fraction = MemoryFraction{0.25, "SHARE"}}).bytes,
            25 * kGiB);
}

}  // namespace
}  // namespace onexpu
