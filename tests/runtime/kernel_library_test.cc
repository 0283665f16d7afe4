// Building modules once, the disk cache, damaged entries, modules that do not build.
#include "pjrt_core/runtime/kernel_library/kernel_library.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pjrt_core/runtime/kernel_library/binary_cache.h"
#include "tests/runtime/test_kernels.h"

namespace onexpu {
namespace {

constexpr char kBuilder[] = "tests/runtime/onexpu-build";
constexpr char kEchoServer[] = "tests/fork_server/echo_server";

class KernelLibraryTest : public ::testing::Test {
 protected:
  KernelLibraryTest() { std::filesystem::remove_all(directory_); }
  ~KernelLibraryTest() override { std::filesystem::remove_all(directory_); }

  std::shared_ptr<KernelLibrary> NewLibrary(const std::string& builder = "") {
    return KernelLibrary::Create(device_, context_, directory_, builder);
  }
  std::vector<std::string> Entries() const {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(directory_ + "/kernels")) {
      paths.push_back(entry.path());
    }
    return paths;
  }

  const std::string directory_ = ::testing::TempDir() + "/onexpu_kernel_cache";
  sycl::device device_{sycl::cpu_selector_v};
  sycl::context context_{device_};
};

TEST_F(KernelLibraryTest, BuildsOncePerProcess) {
  auto library = NewLibrary();
  auto first = library->Load(TestKernels()).value();
  auto second = library->Load(TestKernels()).value();
  EXPECT_EQ(first, second);
  EXPECT_EQ(library->counts().built, 1);
  EXPECT_EQ(library->counts().shared, 1);
  EXPECT_TRUE(first->Kernel("add").ok());
  EXPECT_EQ(first->Kernel("nothing").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(KernelLibraryTest, IsFoundByDeviceAndContextWhileItIsHeld) {
  auto library = NewLibrary();
  EXPECT_EQ(KernelLibrary::Find(device_, context_), library);
  EXPECT_EQ(KernelLibrary::Find(device_, sycl::context(device_)), nullptr);
  library.reset();
  EXPECT_EQ(KernelLibrary::Find(device_, context_), nullptr);
}

TEST_F(KernelLibraryTest, BinariesDependOnTheDriversVariables) {
  ASSERT_TRUE(NewLibrary()->Load(TestKernels()).ok());
  ASSERT_EQ(setenv("CL_CONFIG_OF_THIS_TEST", "1", /*overwrite=*/1), 0);
  auto other = NewLibrary();
  ASSERT_TRUE(other->Load(TestKernels()).ok());
  EXPECT_EQ(other->counts().from_cache, 0);
  unsetenv("CL_CONFIG_OF_THIS_TEST");
  auto same = NewLibrary();
  ASSERT_TRUE(same->Load(TestKernels()).ok());
  EXPECT_EQ(same->counts().from_cache, 1);
}

TEST_F(KernelLibraryTest, TakesTheNativeBinaryFromDisk) {
  ASSERT_TRUE(NewLibrary()->Load(TestKernels()).ok());
  ASSERT_EQ(Entries().size(), 1);
  auto library = NewLibrary();
  auto module = library->Load(TestKernels()).value();
  EXPECT_EQ(library->counts().built, 0);
  EXPECT_EQ(library->counts().from_cache, 1);
  sycl::kernel kernel = module->Kernel("increment").value();
  sycl::queue queue(context_, device_, sycl::property::queue::in_order());
  int* value = sycl::malloc_shared<int>(1, queue);
  *value = 41;
  queue.submit([&](sycl::handler& handler) {
    handler.set_arg(0, value);
    handler.parallel_for(sycl::range<1>(1), kernel);
  });
  queue.wait();
  EXPECT_EQ(*value, 42);
  sycl::free(value, queue);
}

TEST_F(KernelLibraryTest, RebuildsDamagedEntries) {
  ASSERT_TRUE(NewLibrary()->Load(TestKernels()).ok());
  const std::string path = Entries().at(0);
  const auto size = static_cast<std::streamoff>(std::filesystem::file_size(path));
  for (std::streamoff position : {std::streamoff{0}, std::streamoff{9}, size / 2, size - 1}) {
    {
      std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
      file.seekg(position);
      const char byte = static_cast<char>(file.get() ^ 0x40);
      file.seekp(position);
      file.put(byte);
    }
    auto library = NewLibrary();
    ASSERT_TRUE(library->Load(TestKernels()).ok());
    EXPECT_EQ(library->counts().built, 1) << position;
    auto again = NewLibrary();  // the damaged entry was replaced
    ASSERT_TRUE(again->Load(TestKernels()).ok());
    EXPECT_EQ(again->counts().from_cache, 1) << position;
  }
  std::filesystem::resize_file(path, 10);
  auto library = NewLibrary();
  ASSERT_TRUE(library->Load(TestKernels()).ok());
  EXPECT_EQ(library->counts().built, 1);
}

TEST_F(KernelLibraryTest, IgnoresACacheThatOthersMayWrite) {
  ASSERT_TRUE(NewLibrary()->Load(TestKernels()).ok());
  std::filesystem::permissions(Entries().at(0), std::filesystem::perms::others_write,
                               std::filesystem::perm_options::add);
  auto library = NewLibrary();
  ASSERT_TRUE(library->Load(TestKernels()).ok());
  EXPECT_EQ(library->counts().from_cache, 0);
}

TEST_F(KernelLibraryTest, WorksWithoutADirectory) {
  auto library = KernelLibrary::Create(device_, context_, "", "");
  EXPECT_TRUE(library->Load(TestKernels()).ok());
  EXPECT_TRUE(
      KernelLibrary::Create(device_, context_, "/proc/nowhere", "")->Load(TestKernels()).ok());
}

TEST_F(KernelLibraryTest, GarbageIsAnError) {
  std::vector<uint8_t> garbage(64, 7);
  auto status = NewLibrary()->Load(garbage).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
}

TEST_F(KernelLibraryTest, BuildsInAProcessOfItsOwn) {
  auto library = NewLibrary(kBuilder);
  library->Prepare();
  auto module = library->Load(TestKernels());
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_TRUE((*module)->Kernel("add").ok());
  EXPECT_EQ(library->counts().built, 1);
  EXPECT_EQ(library->counts().in_child, 1);
  auto again = NewLibrary(kBuilder);  // the binary was stored
  ASSERT_TRUE(again->Load(TestKernels()).ok());
  EXPECT_EQ(again->counts().from_cache, 1);
  const std::vector<uint8_t> garbage(64, 7);
  EXPECT_EQ(library->Load(garbage).status().code(), absl::StatusCode::kInternal);
}

TEST_F(KernelLibraryTest, BuildsHereWhereNoOtherProcessCan) {
  for (const char* builder : {"/nowhere/onexpu-build", "/bin/true"}) {
    std::filesystem::remove_all(directory_);
    auto library = NewLibrary(builder);
    library->Prepare();
    EXPECT_TRUE(library->Load(TestKernels()).ok());
    EXPECT_EQ(library->counts().built, 1);
    EXPECT_EQ(library->counts().in_child, 0);
  }
}

TEST_F(KernelLibraryTest, BuildsHereIfTheDriverRejectsTheBinary) {
  auto library = NewLibrary(kEchoServer);  // its binaries are SPIR-V
  auto module = library->Load(TestKernels());
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_TRUE((*module)->Kernel("add").ok());
  EXPECT_EQ(library->counts().in_child, 1);
  EXPECT_EQ(library->counts().built, 1);
  auto again = NewLibrary(kEchoServer);  // the binary that was built here was stored
  ASSERT_TRUE(again->Load(TestKernels()).ok());
  EXPECT_EQ(again->counts().from_cache, 1);
  // Both errors, because either may be the cause.
  const std::vector<uint8_t> garbage(64, 7);
  const absl::Status status = library->Load(garbage).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(status.message(), ::testing::HasSubstr("SPIR-V module"));
  EXPECT_THAT(status.message(), ::testing::HasSubstr("rejects a binary of "));
}

TEST_F(KernelLibraryTest, LoadsSeveral) {
  auto library = NewLibrary(kBuilder);
  const std::vector<uint8_t> garbage(64, 7);
  const absl::Span<const uint8_t> good = TestKernels();
  const auto describe = [](size_t module, absl::string_view log) {
    return absl::StrCat("module ", module, " of the test");
  };
  auto modules = library->LoadAll({good, good, good}, describe);
  ASSERT_TRUE(modules.ok()) << modules.status();
  ASSERT_EQ(modules->size(), 3);
  EXPECT_EQ((*modules)[0], (*modules)[2]);
  EXPECT_EQ(library->counts().built, 1);
  const absl::Status refused = library->LoadAll({good, garbage}, describe).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(refused.message(),
              testing::StartsWith("onexpu: a module does not build (module 1 of the test): "));
  EXPECT_TRUE(library->LoadAll({}, describe).value().empty());
}

TEST(BinaryCache, KeepsKeysApart) {
  const std::string directory = ::testing::TempDir() + "/onexpu_binary_cache";
  std::filesystem::remove_all(directory);
  BinaryCache one(directory, "device one"), other(directory, "device two");
  const std::vector<uint8_t> spirv = {1, 2, 3}, binary = {4, 5, 6, 7};
  one.Store(spirv, binary);
  EXPECT_EQ(one.Find(spirv), binary);
  EXPECT_EQ(other.Find(spirv), std::nullopt);
  EXPECT_EQ(one.Find(binary), std::nullopt);
  std::filesystem::rename(one.PathOf(spirv), other.PathOf(spirv));
  EXPECT_EQ(other.Find(spirv), std::nullopt);  // under another's name
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace onexpu
