#include "pjrt_core/disk_cache/entry_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace onexpu {
namespace {

namespace fs = std::filesystem;
using Value = std::vector<uint8_t>;

class EntryFilesTest : public ::testing::Test {
 protected:
  EntryFilesTest() { fs::remove_all(directory_); }
  ~EntryFilesTest() override { fs::remove_all(directory_); }

  static std::string Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  static void Write(const std::string& path, const std::string& contents) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << contents;
  }

  const std::string directory_ = ::testing::TempDir() + "/onexpu_entry_files";
  const Value one_ = {1}, two_ = {2, 3}, three_ = {1, 2, 3}, empty_ = {};
  const Value value_ = {9, 8, 7, 6};
};

TEST_F(EntryFilesTest, FindsWhatWasStored) {
  const EntryFiles files(directory_, CacheKind::kProgram);
  EXPECT_EQ(files.Find({one_, two_}), std::nullopt);
  EXPECT_GT(files.Store({one_, two_}, value_), value_.size());
  EXPECT_EQ(files.Find({one_, two_}), value_);
  EXPECT_EQ(EntryFiles(directory_, CacheKind::kProgram).Find({one_, two_}), value_);
  EXPECT_EQ(EntryFiles(directory_, CacheKind::kBinary).Find({one_, two_}), std::nullopt);
  files.Store({one_, two_}, three_);
  EXPECT_EQ(files.Find({one_, two_}), three_);
  files.Store({}, empty_);
  EXPECT_EQ(files.Find({}), empty_);
}

TEST_F(EntryFilesTest, BoundsOfPartsCount) {
  const EntryFiles files(directory_, CacheKind::kProgram);
  files.Store({one_, two_}, value_);
  EXPECT_EQ(files.Find({three_}), std::nullopt);
  EXPECT_EQ(files.Find({three_, empty_}), std::nullopt);
  EXPECT_EQ(files.Find({one_, two_, empty_}), std::nullopt);
  EXPECT_EQ(files.Find({two_, one_}), std::nullopt);
}

TEST_F(EntryFilesTest, AnEntryUnderAnotherNameIsMissing) {
  const EntryFiles files(directory_, CacheKind::kProgram);
  files.Store({one_}, value_);
  fs::rename(files.PathOf({one_}), files.PathOf({two_}));
  EXPECT_EQ(files.Find({two_}), std::nullopt);
}

TEST_F(EntryFilesTest, EveryDamageIsFound) {
  const EntryFiles files(directory_, CacheKind::kProgram);
  files.Store({one_, two_}, value_);
  const std::string path = files.PathOf({one_, two_});
  const std::string contents = Read(path);
  for (size_t i = 0; i < contents.size(); ++i) {
    std::string damaged = contents;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x41);
    Write(path, damaged);
    EXPECT_EQ(files.Find({one_, two_}), std::nullopt) << "byte " << i;
    Write(path, contents.substr(0, i));
    EXPECT_EQ(files.Find({one_, two_}), std::nullopt) << "cut at " << i;
  }
  Write(path, contents + "x");
  EXPECT_EQ(files.Find({one_, two_}), std::nullopt);
  Write(path, contents);
  EXPECT_EQ(files.Find({one_, two_}), value_);
}

TEST_F(EntryFilesTest, WhatOthersMayWriteIsMissing) {
  const EntryFiles files(directory_, CacheKind::kProgram);
  files.Store({one_}, value_);
  const std::string path = files.PathOf({one_});
  struct stat status;
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  chmod(path.c_str(), 0622);
  EXPECT_EQ(files.Find({one_}), std::nullopt);
  chmod(path.c_str(), 0600);
  chmod(fs::path(path).parent_path().c_str(), 0777);
  EXPECT_EQ(EntryFiles(directory_, CacheKind::kProgram).Find({one_}), std::nullopt);
}

TEST_F(EntryFilesTest, WithoutADirectoryNothingIsKept) {
  for (const std::string& directory : {std::string(), std::string("/proc/none")}) {
    const EntryFiles files(directory, CacheKind::kProgram);
    EXPECT_EQ(files.Store({one_}, value_), 0u);
    EXPECT_EQ(files.Find({one_}), std::nullopt);
  }
}

TEST_F(EntryFilesTest, ManyWritersOfOneEntry) {
  const EntryFiles files(directory_, CacheKind::kProgram);
  const Value large(100'000, 5);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        files.Store({one_}, large);
        EXPECT_EQ(files.Find({one_}), large);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto left = fs::directory_iterator(fs::path(files.PathOf({one_})).parent_path());
  EXPECT_EQ(std::distance(begin(left), end(left)), 1);
}

}  // namespace
}  // namespace onexpu
