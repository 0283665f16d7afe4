// The names of cache entries stay the same, and differ with every byte.
#include "pjrt_core/disk_cache/stable_hash.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace onexpu {
namespace {

TEST(StableHashTest, IsThatOfXxHash) {
  EXPECT_EQ(StableHash({}), "99aa06d3014798d86001c324468d497f");  // xxhsum -H2 of an empty file
}

TEST(StableHashTest, DependsOnEveryByteAndOnTheSize) {
  std::set<std::string> hashes;
  std::vector<uint8_t> bytes(300, 0);
  for (size_t size = 0; size <= bytes.size(); ++size) {
    hashes.insert(StableHash(absl::MakeConstSpan(bytes).first(size)));
  }
  EXPECT_EQ(hashes.size(), bytes.size() + 1);
  for (uint8_t& byte : bytes) {
    byte = 1;
    hashes.insert(StableHash(bytes));
    byte = 0;
  }
  EXPECT_EQ(hashes.size(), 2 * bytes.size() + 1);
}

}  // namespace
}  // namespace onexpu
