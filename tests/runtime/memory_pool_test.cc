#include "pjrt_core/runtime/memory/memory_pool.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pjrt_core/runtime/queue/timeline.h"
#include "tests/runtime/test_program.h"

namespace onexpu {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
constexpr size_t kMiB = size_t{1} << 20;

// Host memory stands in for the device's, and is counted.
struct Fixture {
  explicit Fixture(size_t limit, size_t single = ~size_t{0})
      : pool("test", {.total = limit, .single = single},
             {.allocate = [this](size_t bytes) -> absl::StatusOr<void*> {
                if (failures > 0 && failures-- > 0) {
                  return absl::ResourceExhaustedError("the driver said no");
                }
                taken += bytes;
                largest = std::max(largest, bytes);
                void* memory = std::aligned_alloc(MemoryPool::kAlignment, bytes);
                sizes[memory] = bytes;
                return memory;
              },
              .free =
                  [this](void* memory, size_t bytes) {
                    EXPECT_EQ(bytes, sizes[memory]);
                    taken -= bytes;
                    std::free(memory);
                  }}) {}
  size_t taken = 0;
  size_t largest = 0;
  int failures = 0;
  std::map<void*, size_t> sizes;
  MemoryPool pool;
};

const sycl::context& Context() {
  static const sycl::context context{sycl::device(sycl::cpu_selector_v)};
  return context;
}

TEST(MemoryPool, ReusesSplitsAndCoalesces) {
  Fixture f(64 * kMiB);
  MemoryPool::Block* a = f.pool.Allocate(1000, {}).value();
  MemoryPool::Block* b = f.pool.Allocate(1000, {}).value();
  MemoryPool::Block* c = f.pool.Allocate(1000, {}).value();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a->address) % MemoryPool::kAlignment, 0);
  EXPECT_EQ(b->address, a->address + 1024);
  char* const first = a->address;
  f.pool.Free(a, {});
  f.pool.Free(c, {});
  f.pool.Free(b, {});
  EXPECT_EQ(f.pool.Allocate(3000, {}).value()->address, first);
  EXPECT_EQ(f.taken, 4 * kMiB);  // one region served all
}

TEST(MemoryPool, TrimGivesBackWhatIsUnused) {
  Fixture f(256 * kMiB);
  MemoryPool::Block* small = f.pool.Allocate(100, {}).value();
  MemoryPool::Block* large = f.pool.Allocate(100 * kMiB, {}).value();
  f.pool.Free(large, {});
  EXPECT_EQ(f.taken, 104 * kMiB);
  f.pool.Trim();
  EXPECT_EQ(f.taken, 4 * kMiB);
  f.pool.Free(small, {});
  f.pool.Trim();
  EXPECT_EQ(f.taken, 0);
  EXPECT_EQ(f.pool.statistics().bytes_in_use, 0);
  EXPECT_GE(f.pool.statistics().peak_bytes_in_use, static_cast<int64_t>(100 * kMiB));
}

TEST(MemoryPool, PeaksStartOver) {
  Fixture f(256 * kMiB);
  MemoryPool::Block* kept = f.pool.Allocate(kMiB, {}).value();
  f.pool.Free(f.pool.Allocate(100 * kMiB, {}).value(), {});
  f.pool.Trim();
  f.pool.ResetPeaks();
  MemoryStatistics statistics = f.pool.statistics();
  EXPECT_EQ(statistics.peak_bytes_in_use, statistics.bytes_in_use);
  EXPECT_EQ(statistics.bytes_in_use, static_cast<int64_t>(kMiB));
  EXPECT_EQ(statistics.peak_bytes_reserved, statistics.bytes_reserved);
  EXPECT_EQ(statistics.num_allocations, 0);
  EXPECT_EQ(statistics.largest_allocation, 0);
  f.pool.Free(f.pool.Allocate(2 * kMiB, {}).value(), {});
  f.pool.Free(kept, {});
  statistics = f.pool.statistics();
  EXPECT_EQ(statistics.peak_bytes_in_use, static_cast<int64_t>(3 * kMiB));
  EXPECT_EQ(statistics.num_allocations, 1);
  EXPECT_EQ(statistics.largest_allocation, static_cast<int64_t>(2 * kMiB));
}

TEST(MemoryPool, TrimsUnderPressure) {
  Fixture f(100 * kMiB);
  MemoryPool::Block* block = f.pool.Allocate(60 * kMiB, {}).value();
  f.pool.Free(block, {});
  EXPECT_TRUE(f.pool.Allocate(90 * kMiB, {}).ok());
}

TEST(MemoryPool, TriesSmallerRegionsNearTheLimit) {
  Fixture f(10 * kMiB);
  EXPECT_TRUE(f.pool.Allocate(6 * kMiB, {}).ok());  // a region of 64 MiB would not fit
  EXPECT_TRUE(f.pool.Allocate(1 * kMiB, {}).ok());
}

TEST(MemoryPool, RegionsAboveTheSingleLimitServeNothingSmaller) {
  // Not a multiple of the granule that regions are rounded up to.
  constexpr size_t kSingle = 63 * kMiB + 4096;
  Fixture f(256 * kMiB, kSingle);
  EXPECT_TRUE(f.pool.Allocate(kSingle, {}).ok());
  EXPECT_LE(f.largest, kSingle);
  MemoryPool::Block* above = f.pool.Allocate(100 * kMiB, {}).value();
  EXPECT_EQ(f.largest, 100 * kMiB);
  char* const address = above->address;
  f.pool.Free(above, {});
  for (const size_t size : {size_t{100}, kMiB, 20 * kMiB}) {
    EXPECT_NE(f.pool.Allocate(size, {}).value()->address, address);
  }
  MemoryPool::Block* again = f.pool.Allocate(90 * kMiB, {}).value();
  EXPECT_EQ(again->address, address);
  EXPECT_EQ(again->size, 100 * kMiB);  // whole
}

TEST(MemoryPool, SaysWhyTheDriverRefused) {
  Fixture f(1024 * kMiB, 64 * kMiB);
  f.failures = 100;
  EXPECT_FALSE(f.pool.Allocate(100 * kMiB, {}).ok());
  const std::string message(f.pool.OutOfMemory(100 * kMiB).message());
  EXPECT_THAT(message, HasSubstr("the driver said no"));
  EXPECT_THAT(message, HasSubstr("104857600 bytes requested"));
  EXPECT_THAT(message, HasSubstr("largest single allocation of the device is 67108864 bytes"));
  EXPECT_THAT(f.pool.OutOfMemory(kMiB).message(), Not(HasSubstr("single allocation")));
}

TEST(MemoryPool, LargeRegionsStayWhole) {
  Fixture f(256 * kMiB);
  MemoryPool::Block* large = f.pool.Allocate(100 * kMiB, {}).value();
  char* const address = large->address;
  f.pool.Free(large, {});
  EXPECT_TRUE(f.pool.Allocate(100, {}).ok());
  EXPECT_TRUE(f.pool.Allocate(1 * kMiB, {}).ok());
  EXPECT_EQ(f.pool.Allocate(100 * kMiB, {}).value()->address, address);
}

TEST(MemoryPool, TakesFromLargeRegionsNearTheLimit) {
  Fixture f(100 * kMiB);
  MemoryPool::Block* large = f.pool.Allocate(100 * kMiB, {}).value();
  char* const address = large->address;
  f.pool.Free(large, {});
  EXPECT_EQ(f.pool.Allocate(100, {}).value()->address, address);
  EXPECT_TRUE(f.pool.Allocate(1 * kMiB, {}).ok());
  EXPECT_EQ(f.pool.statistics().largest_free_block_bytes,
            static_cast<int64_t>(99 * kMiB - MemoryPool::kAlignment));
}

TEST(MemoryPool, TakesFromSmallerRegionsNearTheLimit) {
  Fixture f(80 * kMiB);
  MemoryPool::Block* medium = f.pool.Allocate(2 * kMiB, {}).value();
  EXPECT_EQ(f.pool.Allocate(40 * kMiB, {}).value()->address, medium->address + 2 * kMiB);
  EXPECT_EQ(f.taken, 64 * kMiB);
}

TEST(MemoryPool, ExhaustionSaysWhatThereWas) {
  Fixture f(10 * kMiB);
  MemoryPool::Block* block = f.pool.Allocate(6 * kMiB, {}).value();
  EXPECT_EQ(f.pool.Allocate(6 * kMiB, {}).status().code(), absl::StatusCode::kResourceExhausted);
  absl::Status status = f.pool.OutOfMemory(6 * kMiB);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("6291456 bytes requested"));
  EXPECT_THAT(status.message(), HasSubstr("limit 10485760"));
  f.pool.Free(block, {});
  EXPECT_TRUE(f.pool.Allocate(6 * kMiB, {}).ok());  // nothing was lost
}

TEST(MemoryPool, PendingMemoryGoesToItsOwnTimelineOnly) {
  constexpr size_t kSize = 64 * kMiB;
  Fixture f(256 * kMiB);
  DeviceHealth health;
  Timeline compute("compute", Context(), Context().get_devices()[0], {}, &health);
  Timeline copies("copies", Context(), Context().get_devices()[0], {}, &health);
  Timeline::Reservation work = compute.Reserve(0);  // never done until it is committed below
  Timeline::Reservation later = compute.Reserve(0);

  TicketSet uses;
  uses.Add({&compute, work.ticket});
  MemoryPool::Block* block = f.pool.Allocate(kSize, {}).value();
  char* const address = block->address;
  f.pool.Free(block, uses);
  MemoryPool::Block* other = f.pool.Allocate(kSize, {.timeline = &copies}).value();
  EXPECT_NE(other->address, address);
  MemoryPool::Block* own = f.pool.Allocate(kSize, {.timeline = &compute}).value();
  EXPECT_EQ(own->address, address);

  // Freed by later work: not for work that comes before it.
  uses.clear();
  uses.Add({&compute, later.ticket});
  f.pool.Free(own, uses);
  MemoryPool::Block* earlier =
      f.pool.Allocate(kSize, {.timeline = &compute, .ticket = work.ticket}).value();
  EXPECT_NE(earlier->address, address);

  for (const auto& reservation : {work, later}) {
    compute.Commit(reservation.ticket, std::nullopt, absl::OkStatus(), nullptr);
  }
  compute.Wait(later.ticket);
  EXPECT_EQ(f.pool.Allocate(kSize, {.timeline = &copies}).value()->address, address);
}

TEST(MemoryPool, WorkKeepsItsOwnMemoryUntilItGivesItBack) {
  constexpr size_t kSize = 64 * kMiB;
  Fixture f(256 * kMiB);
  DeviceHealth health;
  Timeline compute("compute", Context(), Context().get_devices()[0], {}, &health);
  Timeline::Reservation work = compute.Reserve(0);
  const MemoryUser more{.timeline = &compute, .ticket = work.ticket};

  // The temporaries of work that waits for its submission.
  TicketSet uses;
  uses.Add({&compute, work.ticket});
  MemoryPool::Block* temporary = f.pool.Allocate(kSize, {}).value();
  char* const address = temporary->address;
  f.pool.Free(temporary, uses);
  MemoryPool::Block* scratch = f.pool.Allocate(kSize, more).value();
  char* const scratch_address = scratch->address;
  EXPECT_NE(scratch_address, address);

  // What it gave back, in the middle of its submission, and not what the two make together.
  TicketSet given_back;
  given_back.Add({&compute, work.ticket, /*is_given_back=*/true});
  f.pool.Free(scratch, given_back);
  EXPECT_EQ(f.pool.Allocate(kSize, more).value()->address, scratch_address);
  given_back.Add(uses);
  EXPECT_FALSE(given_back.begin()->is_given_back);

  // For what comes after, both are free.
  EXPECT_EQ(f.pool.Allocate(kSize, {.timeline = &compute}).value()->address, address);
  compute.Commit(work.ticket, std::nullopt, absl::OkStatus(), nullptr);
  compute.Wait(work.ticket);
}

TEST(MemoryPool, RandomUseNeverOverlaps) {
  Fixture f(512 * kMiB);
  std::mt19937 random(1);
  std::vector<MemoryPool::Block*> live;
  for (int i = 0; i < 20000; ++i) {
    if (live.size() < 50 || random() % 2 == 0) {
      const size_t size = size_t{1} << (random() % 22);
      absl::StatusOr<MemoryPool::Block*> block = f.pool.Allocate(size + random() % size, {});
      ASSERT_TRUE(block.ok());
      live.push_back(*block);
      continue;
    }
    const size_t index = random() % live.size();
    f.pool.Free(live[index], {});
    live[index] = live.back();
    live.pop_back();
  }
  std::map<char*, size_t> extents;
  int64_t bytes = 0;
  for (MemoryPool::Block* block : live) {
    extents[block->address] = block->size;
    bytes += static_cast<int64_t>(block->size);
  }
  char* end = nullptr;
  for (auto [address, size] : extents) {
    EXPECT_GE(address, end);
    end = address + size;
  }
  EXPECT_EQ(f.pool.statistics().bytes_in_use, bytes);
  for (MemoryPool::Block* block : live) f.pool.Free(block, {});
  f.pool.Trim();
  EXPECT_EQ(f.taken, 0);  // everything coalesced
}

}  // namespace
}  // namespace onexpu
