#include "custom_kernels/included_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace onexpu {
namespace {

namespace fs = std::filesystem;

class IncludedFilesTest : public ::testing::Test {
 protected:
  IncludedFilesTest() {
    fs::remove_all(directory_);
    Write("one/a.hpp", "#pragma once\n#include \"b.hpp\"\n  #  include <deep/c.hpp>\n");
    Write("one/b.hpp", "#include \"a.hpp\"\nint b;\n");
    Write("two/b.hpp", "int other;\n");
    Write("two/deep/c.hpp", "int c;\n");
    Write("two/first.hpp", "int first;\n");
  }
  ~IncludedFilesTest() override { fs::remove_all(directory_); }

  void Write(const std::string& name, const std::string& contents) const {
    const fs::path path = fs::path(directory_) / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << contents;
  }

  static int Lines(const std::string& text) {
    return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  }

  const std::string directory_ = ::testing::TempDir() + "/onexpu_included_files";
  const std::string one_ = "-I" + directory_ + "/one";
  const std::vector<std::string> both_ = {one_, "-isystem", directory_ + "/two"};
};

TEST_F(IncludedFilesTest, FollowsThemAndReadsEachOnce) {
  const std::string found =
      DescribeIncludedFiles("#include \"a.hpp\"\n#include \"b.hpp\"\n", both_);
  EXPECT_EQ(Lines(found), 3) << found;
  EXPECT_NE(found.find("one/b.hpp"), std::string::npos);
  EXPECT_NE(found.find("two/deep/c.hpp"), std::string::npos);
}

TEST_F(IncludedFilesTest, AChangeOfAnyFileShows) {
  const std::string before = DescribeIncludedFiles("#include <a.hpp>\n", both_);
  Write("two/deep/c.hpp", "int d;\n");  // as long as it was
  EXPECT_NE(DescribeIncludedFiles("#include <a.hpp>\n", both_), before);
  Write("two/deep/c.hpp", "int c;\n");
  EXPECT_EQ(DescribeIncludedFiles("#include <a.hpp>\n", both_), before);
}

TEST_F(IncludedFilesTest, OptionsNameDirectoriesAndFiles) {
  const std::string source = "#include \"b.hpp\"\n";
  EXPECT_EQ(DescribeIncludedFiles(source, {}), "");
  EXPECT_EQ(DescribeIncludedFiles("int x;\n#include <sycl/sycl.hpp>\n", both_), "");
  const std::string two = directory_ + "/two";
  EXPECT_NE(DescribeIncludedFiles(source, {"-iquote", two, one_}).find("two/b"), std::string::npos);
  EXPECT_EQ(DescribeIncludedFiles("#include <b.hpp>\n", {"-iquote" + two}), "");
  EXPECT_EQ(Lines(DescribeIncludedFiles("", {"-include", two + "/first.hpp"})), 1);
  EXPECT_EQ(DescribeIncludedFiles(source, {"-O2", "-I"}), "");
}

}  // namespace
}  // namespace onexpu
