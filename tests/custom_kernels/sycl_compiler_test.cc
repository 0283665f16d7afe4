#include "custom_kernels/sycl_compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "custom_kernels/kernel_preamble.h"
#include "custom_kernels/spirv_binary.h"
#include "pjrt_core/disk_cache/disk_cache.h"

namespace onexpu {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class SyclCompilerTest : public ::testing::Test {
 protected:
  SyclCompilerTest() { std::filesystem::create_directories(cache_); }
  ~SyclCompilerTest() override { std::filesystem::remove_all(cache_); }

  static SyclSource Scale(const std::string& factor) {
    return {KernelPreamble("scale.cpp") + R"(
template <typename T>
ONEXPU_KERNEL void scale(const T* x, T* y) {
  const auto i = onexpu::global_id();
  y[i] = T()" + factor +
                R"() * x[i];
}
)",
            {},
            {"scale<float>", "scale<onexpu::bfloat16>"}};
  }

  // The one cached result.
  std::filesystem::path CacheFile() const {
    for (const auto& entry : std::filesystem::directory_iterator(cache_ + "/sycl")) {
      if (entry.path().extension() == ".sycl") return entry.path();
    }
    return {};
  }

  int Count(CacheKind kind) const {
    const std::vector<CacheEntry> entries = ListCache(cache_);
    return static_cast<int>(std::count_if(entries.begin(), entries.end(),
                                          [&](const auto& entry) { return entry.kind == kind; }));
  }

  const std::string cache_ = std::string(::testing::TempDir()) + "/cache";
};

TEST_F(SyclCompilerTest, GivesOneModuleWithTheKernelsInOrder) {
  auto binary = CompileSycl(Scale("2"), "");
  ASSERT_TRUE(binary.ok()) << binary.status();
  ASSERT_EQ(binary->entry_points.size(), 2u);
  EXPECT_THAT(binary->entry_points[0], HasSubstr("scaleIf"));
  EXPECT_THAT(binary->entry_points[1], HasSubstr("bfloat16"));
  auto names = SpirvEntryPoints(binary->spirv);
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_EQ(names->size(), 2u);
}

TEST_F(SyclCompilerTest, SplitGivesAModulePerKernel) {
  auto binaries = CompileSyclSplit(Scale("2"));
  ASSERT_TRUE(binaries.ok()) << binaries.status();
  ASSERT_EQ(binaries->size(), 2u);
  for (const SpirvBinary& binary : *binaries) {
    auto names = SpirvEntryPoints(binary.spirv);
    ASSERT_TRUE(names.ok()) << names.status();
    EXPECT_EQ(*names, binary.entry_points);
  }
}

TEST_F(SyclCompilerTest, DiagnosticsPointIntoTheSource) {
  auto binary = CompileSycl(
      {KernelPreamble("mine.cpp") + "ONEXPU_KERNEL void f(float* x) {\n  x[0] = nowhere;\n}\n",
       {},
       {"f"}},
      "");
  EXPECT_EQ(binary.status().code(), absl::StatusCode::kInvalidArgument);
  const std::string message(binary.status().message());
  EXPECT_THAT(message, HasSubstr("mine.cpp:2:10: error: use of undeclared identifier 'nowhere'"));
  EXPECT_THAT(message, Not(HasSubstr("rtc_")));
}

TEST_F(SyclCompilerTest, AnUnknownKernelIsAnError) {
  SyclSource source = Scale("2");
  source.kernel_names = {"scaled<float>"};
  EXPECT_EQ(CompileSycl(source, "").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SyclCompilerTest, ResultsComeFromTheCacheTheSecondTime) {
  auto first = CompileSycl(Scale("3"), cache_);
  ASSERT_TRUE(first.ok()) << first.status();
  const auto start = std::chrono::steady_clock::now();
  auto second = CompileSycl(Scale("3"), cache_);
  const auto elapsed = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(first->spirv, second->spirv);
  EXPECT_EQ(first->entry_points, second->entry_points);
  // Reading takes well under a millisecond, compiling about a second.
  EXPECT_LT(elapsed, std::chrono::milliseconds(200));
}

TEST_F(SyclCompilerTest, OtherOptionsAreAnotherResult) {
  SyclSource source = Scale("FACTOR");
  source.options = {"-DFACTOR=4"};
  ASSERT_TRUE(CompileSycl(source, cache_).ok());
  source.options = {};
  EXPECT_EQ(CompileSycl(source, cache_).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SyclCompilerTest, MacrosShareThePrecompiledHeaders) {
  SyclSource source = Scale("FACTOR");
  for (const char* option : {"-DFACTOR=4", "-DFACTOR=5"}) {
    source.options = {option};
    ASSERT_TRUE(CompileSycl(source, cache_).ok());
  }
  EXPECT_EQ(Count(CacheKind::kHeaders), 1);
  EXPECT_EQ(Count(CacheKind::kSpirv), 2);
  source.options = {"-DFACTOR=4", "-DSYCL_SIMPLE_SWIZZLES"};  // which the headers read
  ASSERT_TRUE(CompileSycl(source, cache_).ok());
  EXPECT_EQ(Count(CacheKind::kHeaders), 2);
}

TEST_F(SyclCompilerTest, AnotherIncludedFileIsAnotherResult) {
  SyclSource source = Scale("kFactor");
  source.options = {"-I" + cache_};
  const size_t mark = source.source.find("template <typename T>\nONEXPU_KERNEL");
  source.source.insert(mark, "#include \"factor.hpp\"\n");
  std::vector<std::vector<uint8_t>> modules;
  for (const char* factor : {"2", "3", "2"}) {
    std::ofstream(cache_ + "/factor.hpp") << "constexpr int kFactor = " << factor << ";\n";
    auto binary = CompileSycl(source, cache_);
    ASSERT_TRUE(binary.ok()) << binary.status();
    modules.push_back(binary->spirv);
  }
  EXPECT_NE(modules[0], modules[1]);
  EXPECT_EQ(modules[0], modules[2]);
}

TEST_F(SyclCompilerTest, DiagnosticsCountLinesBehindMacros) {
  SyclSource source = Scale("FACTOR");
  source.options = {"-DFACTOR=nowhere", "-DOTHER"};
  const std::string message(CompileSycl(source, "").status().message());
  EXPECT_THAT(message, HasSubstr("scale.cpp:5:12: error: use of undeclared identifier 'nowhere'"));
}

TEST_F(SyclCompilerTest, KeepsTheCacheWithinItsLimits) {
  ASSERT_TRUE(CompileSycl(Scale("6"), cache_).ok());
  EXPECT_EQ(Count(CacheKind::kHeaders), 1);  // 37 MB
  ASSERT_TRUE(CompileSycl(Scale("7"), cache_, {.bytes = 1 << 20}).ok());
  EXPECT_EQ(Count(CacheKind::kHeaders), 0);
}

TEST_F(SyclCompilerTest, ADamagedCacheEntryIsMadeAnew) {
  auto first = CompileSycl(Scale("5"), cache_);
  ASSERT_TRUE(first.ok()) << first.status();
  const std::filesystem::path file = CacheFile();
  ASSERT_FALSE(file.empty());
  std::string contents;
  {
    std::ifstream in(file, std::ios::binary);
    contents.assign(std::istreambuf_iterator<char>(in), {});
  }
  contents[contents.size() / 2] ^= 1;
  std::ofstream(file, std::ios::binary) << contents;
  auto second = CompileSycl(Scale("5"), cache_);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(first->spirv, second->spirv);
}

TEST(KernelPreambleTest, LinesOfThePreambleKeepTheirNumbers) {
  const std::string source = KernelPreamble("k.cpp") + "int x;\n";
  const auto lines = std::count(source.begin(), source.end(), '\n') - 1;
  EXPECT_EQ(RestoreSourceLocations("rtc_0.cpp:2:1: note", source), "rtc_0.cpp:2:1: note");
  EXPECT_EQ(RestoreSourceLocations("rtc_12.cpp:" + std::to_string(lines + 1) + ":5: error", source),
            "k.cpp:1:5: error");
}

}  // namespace
}  // namespace onexpu
