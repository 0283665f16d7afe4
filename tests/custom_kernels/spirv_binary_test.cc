#include "custom_kernels/spirv_binary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "absl/status/status.h"
#include "custom_kernels/kernel_registry.h"
#include "custom_kernels/spirv_module.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> WhereKernels();

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

const EmbeddedKernel& Sample() { return WhereKernels().front(); }

std::vector<uint8_t> SampleBytes() {
  return {Sample().spirv, Sample().spirv + Sample().spirv_size};
}

TEST(SpirvBinaryTest, NamesTheKernelsOfAModule) {
  auto names = SpirvEntryPoints(SampleBytes());
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_THAT(*names, ElementsAre(Sample().entry_point));
}

TEST(SpirvBinaryTest, EveryTruncationIsNoticed) {
  const std::vector<uint8_t> bytes = SampleBytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(SpirvEntryPoints(absl::MakeConstSpan(bytes.data(), size)).status().code(),
              absl::StatusCode::kInvalidArgument)
        << size;
  }
}

TEST(SpirvBinaryTest, AnInstructionOfNoLengthIsNoticed) {
  std::vector<uint8_t> bytes = SampleBytes();
  bytes[22] = bytes[23] = 0;  // the length of the first instruction
  EXPECT_EQ(SpirvEntryPoints(bytes).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(SpirvBinaryTest, SaysWhatAModuleNeeds) {
  const SpirvNeeds needs = ReadSpirvNeeds(SampleBytes());
  EXPECT_EQ(needs.major_version, 1);
  EXPECT_EQ(needs.addressing_model, 2);                              // Physical64
  EXPECT_THAT(needs.capabilities, IsSupersetOf({4u, 5u, 6u, 11u}));  // Addresses to Int64
}

TEST(KernelRegistryTest, KernelsOfOneModuleAreBuiltTogether) {
  const std::vector<uint8_t> bytes = SampleBytes();
  ASSERT_TRUE(RegisterKernel("first", Sample().entry_point, bytes, {8}).ok());
  ASSERT_TRUE(RegisterKernel("second", Sample().entry_point, bytes, {4}).ok());
  EXPECT_EQ((*FindKernel("first"))->module->spirv().data(),
            (*FindKernel("second"))->module->spirv().data());
}

TEST(KernelRegistryTest, TheSameKernelTwiceIsFineAnotherUnderItsKeyIsNot) {
  const std::vector<uint8_t> bytes = SampleBytes();
  EXPECT_TRUE(RegisterKernel("same", Sample().entry_point, bytes, {8}).ok());
  EXPECT_TRUE(RegisterKernel("same", Sample().entry_point, bytes, {8}).ok());
  EXPECT_EQ(RegisterKernel("same", Sample().entry_point, bytes, {4}).code(),
            absl::StatusCode::kAlreadyExists);
}

TEST(KernelRegistryTest, AMissingEntryPointNamesThoseThatAreThere) {
  const absl::Status status = RegisterKernel("missing", "nobody", SampleBytes(), {});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(Sample().entry_point));
}

TEST(KernelRegistryTest, AnUnknownKeyIsNotFound) {
  EXPECT_EQ(FindKernel("never registered").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace onexpu
