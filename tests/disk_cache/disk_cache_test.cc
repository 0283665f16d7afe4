#include "pjrt_core/disk_cache/disk_cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace onexpu {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kDay = 24 * 3600;

class DiskCacheTest : public ::testing::Test {
 protected:
  DiskCacheTest() { fs::remove_all(directory_); }
  ~DiskCacheTest() override { fs::remove_all(directory_); }

  // A file of the cache that was written and used so many days ago.
  std::string Add(const std::string& name, size_t bytes, int64_t days = 0) const {
    const fs::path path = fs::path(directory_) / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << std::string(bytes, 'x');
    const timespec then = {.tv_sec = std::time(nullptr) - days * kDay, .tv_nsec = 0};
    const timespec times[2] = {then, then};
    EXPECT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
    return path.string();
  }

  const std::string directory_ = ::testing::TempDir() + "/onexpu_disk_cache";
};

TEST_F(DiskCacheTest, ListsWhatTheOwnersWrite) {
  const std::map<std::string, CacheKind> expected = {
      {Add("programs/00ff.program", 8), CacheKind::kProgram},
      {Add("programs/00ff.program.12.0", 9), CacheKind::kTemporary},
      {Add("kernels/00ff.bin", 1), CacheKind::kBinary},
      {Add("kernels/00ff.bin.12.0", 2), CacheKind::kTemporary},
      {Add("sycl/00ff.sycl", 3), CacheKind::kSpirv},
      {Add("sycl/00ff.sycl.12.0", 4), CacheKind::kTemporary},
      {Add("sycl/pch/llvmcache-a_-", 5), CacheKind::kHeaders},
      {Add("sycl/pch/1.2/llvmcache-b", 6), CacheKind::kHeaders},
      {Add("sycl/pch/1.2/syclrtc-tmp-7", 7), CacheKind::kTemporary},
  };
  std::map<std::string, CacheKind> found;
  uint64_t bytes = 0;
  for (const CacheEntry& entry : ListCache(directory_)) {
    found[entry.path] = entry.kind;
    bytes += entry.bytes;
  }
  EXPECT_EQ(found, expected);
  EXPECT_EQ(bytes, 45u);
  EXPECT_TRUE(ListCache(directory_ + "/nowhere").empty());
  EXPECT_TRUE(ListCache("").empty());
}

TEST_F(DiskCacheTest, LeavesOtherFilesAlone) {
  const std::string files[] = {Add("thesis.tex", 9, 999), Add("kernels/notes.txt", 9, 999),
                               Add("kernels/deeper/00ff.bin", 9, 999),
                               Add("sycl/pch/mine", 9, 999)};
  const std::string target = Add("elsewhere/00ff.bin", 9, 999);
  fs::create_directories(directory_ + "/kernels");
  fs::create_symlink(target, directory_ + "/kernels/0a.bin");
  EXPECT_EQ(PruneCache(directory_, {.bytes = 0, .seconds = -1}).entries, 0u);
  for (const std::string& file : files) EXPECT_TRUE(fs::exists(file)) << file;
  EXPECT_TRUE(fs::exists(target));
}

TEST_F(DiskCacheTest, PrunesByAge) {
  const std::string old = Add("kernels/0.bin", 10, 31), used = Add("sycl/1.sycl", 10, 29);
  const PrunedCache pruned = PruneCache(directory_, {.seconds = 30 * kDay});
  EXPECT_EQ(pruned.entries, 1u);
  EXPECT_EQ(pruned.bytes, 10u);
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(used));
}

TEST_F(DiskCacheTest, PrunesTheLeastRecentlyUsedUntilTheRestFits) {
  const std::string first = Add("kernels/0.bin", 40, 3), last = Add("sycl/pch/llvmcache-1", 40, 1),
                    second = Add("sycl/2.sycl", 40, 2);
  EXPECT_EQ(PruneCache(directory_, {.bytes = 120}).entries, 0u);
  EXPECT_EQ(PruneCache(directory_, {.bytes = 119}).bytes, 40u);
  EXPECT_FALSE(fs::exists(first));
  MarkUsed(second);
  EXPECT_EQ(PruneCache(directory_, {.bytes = 79}).bytes, 40u);
  EXPECT_TRUE(fs::exists(second));
  EXPECT_FALSE(fs::exists(last));
}

TEST_F(DiskCacheTest, PrunesTheLargestOfThoseUsedAtOnce) {
  const std::string headers = Add("sycl/pch/llvmcache-1", 100, 1), spirv = Add("sycl/2.sycl", 1, 1);
  PruneCache(directory_, {.bytes = 50});
  EXPECT_FALSE(fs::exists(headers));
  EXPECT_TRUE(fs::exists(spirv));
}

TEST_F(DiskCacheTest, LeavesFilesThatAreBeingWritten) {
  const std::string fresh = Add("kernels/0.bin.1.0", 10), stale = Add("kernels/1.bin.1.0", 10, 2);
  PruneCache(directory_, {.bytes = 0, .seconds = -1});
  EXPECT_TRUE(fs::exists(fresh));
  EXPECT_FALSE(fs::exists(stale));
}

TEST_F(DiskCacheTest, WritersPruneAtFirstAndAfterASixteenthOfTheLimit) {
  const CacheLimits limits = {.bytes = 1600};
  Add("kernels/0.bin", 2000, 5);
  LimitCache(directory_, limits, 10);
  EXPECT_TRUE(ListCache(directory_).empty());
  Add("kernels/1.bin", 2000, 5);
  LimitCache(directory_, limits, 90);
  EXPECT_EQ(ListCache(directory_).size(), 1u);
  LimitCache(directory_, limits, 10);
  EXPECT_TRUE(ListCache(directory_).empty());
}

TEST_F(DiskCacheTest, AProcessDoesNotPruneWhereAnotherHasJustDoneSo) {
  const CacheLimits limits = {.bytes = 1600};
  Add("kernels/0.bin", 2000);
  LimitCache(directory_ + "/.", limits, 10);
  EXPECT_TRUE(ListCache(directory_).empty());
  // As other processes, which know the directory by other names here.
  Add("kernels/1.bin", 2000);
  LimitCache(directory_ + "/./.", limits, 10);
  EXPECT_EQ(ListCache(directory_).size(), 1u);
  Add("pruned", 0, 1);
  LimitCache(directory_ + "/./././.", limits, 10);
  EXPECT_TRUE(ListCache(directory_).empty());
}

TEST_F(DiskCacheTest, UseKeepsTheTimeOfWriting) {
  const std::string path = Add("kernels/0.bin", 1, 5);
  const fs::file_time_type written = fs::last_write_time(path);
  MarkUsed(path);
  EXPECT_EQ(fs::last_write_time(path), written);
  EXPECT_GE(ListCache(directory_).front().last_used, std::time(nullptr) - 60);
}

}  // namespace
}  // namespace onexpu
