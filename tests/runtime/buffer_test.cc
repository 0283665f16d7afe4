// Buffers from and to the host, views, deletion, memory of others, the table of live addresses.
#include "pjrt_core/runtime/buffer/buffer.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pjrt_core/runtime/buffer/live_buffers.h"
#include "pjrt_core/runtime/sycl_device/sycl_device.h"
#include "tests/runtime/test_program.h"

namespace onexpu {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::shared_ptr<Buffer> FromHost(
    const void* data, const ArrayShape& shape, std::vector<int64_t> strides = {},
    HostBufferSemantics semantics = HostBufferSemantics::kImmutableUntilTransferCompletes,
    absl::AnyInvocable<void()> done = {}) {
  return Buffer::FromHost(data, shape, strides, semantics, TestMemory(), Origin::kJax,
                          std::move(done))
      .value();
}

std::vector<int32_t> Iota(int64_t size) {
  std::vector<int32_t> values(size);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

TEST(Buffer, RoundTripsOfAllSizes) {
  for (int64_t size : {0, 1, 7, 1000, 100'000, 3'000'000}) {
    for (auto semantics : {HostBufferSemantics::kImmutableOnlyDuringCall,
                           HostBufferSemantics::kImmutableUntilTransferCompletes}) {
      std::vector<int32_t> values = Iota(size);
      auto done = Event::Create();
      auto buffer = FromHost(values.data(), ArrayShape::RowMajor(program::ElementType::S32, {size}),
                             {}, semantics, [done] { done->Complete(absl::OkStatus()); });
      if (semantics == HostBufferSemantics::kImmutableOnlyDuringCall) {
        EXPECT_TRUE(done->IsReady());
      }
      ASSERT_TRUE(done->Await().ok());
      std::vector<int32_t> expected = values;
      std::fill(values.begin(), values.end(), -1);
      EXPECT_EQ(ToVector<int32_t>(*buffer).value(), expected) << size;
      EXPECT_TRUE(buffer->ready()->Await().ok());
    }
  }
}

TEST(Buffer, StridedAndReversedHostArrays) {
  const std::vector<int32_t> host = Iota(24);
  // The transpose of int32[4, 6].
  auto transposed =
      FromHost(host.data(), ArrayShape::RowMajor(program::ElementType::S32, {6, 4}), {4, 24});
  std::vector<int32_t> expected;
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 4; ++j) expected.push_back(j * 6 + i);
  }
  EXPECT_EQ(ToVector<int32_t>(*transposed).value(), expected);

  auto reversed = FromHost(&host[23], ArrayShape::RowMajor(program::ElementType::S32, {24}), {-4});
  EXPECT_EQ(ToVector<int32_t>(*reversed).value(), std::vector<int32_t>(host.rbegin(), host.rend()));

  auto broadcast =
      FromHost(&host[5], ArrayShape::RowMajor(program::ElementType::S32, {3, 2}), {0, 0});
  EXPECT_THAT(ToVector<int32_t>(*broadcast).value(), Each(5));
}

TEST(Buffer, LargeTransposeOfEveryElementSize) {
  constexpr int64_t kRows = 301, kColumns = 97;
  const std::pair<program::ElementType, size_t> types[] = {{program::ElementType::U8, 1},
                                                           {program::ElementType::BF16, 2},
                                                           {program::ElementType::F32, 4},
                                                           {program::ElementType::C64, 8},
                                                           {program::ElementType::C128, 16}};
  for (auto [type, size] : types) {
    std::vector<uint8_t> host(kRows * kColumns * size);
    for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<uint8_t>(i * 31 + i / 251);
    const int64_t element = static_cast<int64_t>(size);
    // [columns, rows] seen through the strides of a row-major [rows, columns].
    auto buffer = FromHost(host.data(), ArrayShape::RowMajor(type, {kColumns, kRows}),
                           {element, kColumns * element});
    std::vector<uint8_t> back(host.size());
    ASSERT_TRUE(
        buffer->ToHost(back.data(), {element, kColumns * element}, Origin::kJax)->Await().ok());
    EXPECT_EQ(back, host);
    std::vector<uint8_t> dense(host.size());
    ASSERT_TRUE(buffer->ToHost(dense.data(), {}, Origin::kJax)->Await().ok());
    for (int64_t i : {int64_t{0}, kRows + 5, kColumns * kRows - 1}) {
      const int64_t column = i / kRows, row = i % kRows;
      EXPECT_EQ(std::memcmp(&dense[i * element], &host[(row * kColumns + column) * element], size),
                0);
    }
  }
}

TEST(Buffer, OtherDeviceLayouts) {
  ArrayShape column_major = ArrayShape::RowMajor(program::ElementType::S32, {2, 3});
  column_major.minor_to_major = {0, 1};
  const std::vector<int32_t> host = Iota(6);
  auto buffer = FromHost(host.data(), column_major);
  std::vector<int32_t> raw(6);
  ASSERT_TRUE(buffer->RawToHost(raw.data(), 0, 24, Origin::kJax)->Await().ok());
  EXPECT_THAT(raw, ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_EQ(ToVector<int32_t>(*buffer).value(), host);
}

TEST(Buffer, RawPartsAndBadRanges) {
  auto buffer = FromVector(Iota(10));
  std::vector<int32_t> part(3);
  ASSERT_TRUE(buffer->RawToHost(part.data(), 8, 12, Origin::kJax)->Await().ok());
  EXPECT_THAT(part, ElementsAre(2, 3, 4));
  for (auto [offset, size] : {std::pair<int64_t, int64_t>{-4, 4}, {36, 8}, {0, 41}}) {
    EXPECT_EQ(buffer->RawToHost(part.data(), offset, size, Origin::kJax)->Await().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(Buffer, ViewsShareMemory) {
  auto buffer = FromVector(Iota(10));
  auto prefix = buffer->PrefixView({2, 2}).value();
  auto alias = buffer->Alias(ArrayShape::RowMajor(program::ElementType::S32, {5, 2})).value();
  EXPECT_EQ(prefix->address().value(), buffer->address().value());
  EXPECT_EQ(buffer->PrefixView({11}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(buffer->Alias(ArrayShape::RowMajor(program::ElementType::S32, {9})).status().code(),
            absl::StatusCode::kInvalidArgument);
  buffer->Delete();
  EXPECT_THAT(ToVector<int32_t>(*prefix).value(), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(ToVector<int32_t>(*alias).value(), Iota(10));
}

TEST(Buffer, DeletionFreesMemoryAndForbidsUse) {
  const int64_t before = TestDevice()->memory_statistics().bytes_in_use;
  auto buffer = FromVector(Iota(1 << 20));
  EXPECT_GE(TestDevice()->memory_statistics().bytes_in_use, before + (4 << 20));
  buffer->Delete();
  EXPECT_TRUE(buffer->IsDeleted());
  EXPECT_EQ(TestDevice()->memory_statistics().bytes_in_use, before);
  EXPECT_EQ(buffer->address().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(ToVector<int32_t>(*buffer).status().message(), HasSubstr("deleted or donated"));
  EXPECT_FALSE(buffer->CopyTo(TestMemory(), Origin::kJax).ok());
}

TEST(Buffer, ExternalReferencesKeepTheMemory) {
  auto buffer = FromVector(Iota(100));
  int32_t* const address = static_cast<int32_t*>(buffer->address().value());
  ASSERT_TRUE(buffer->AcquireExternalReference().ok());
  buffer->Delete();
  for (int i = 0; i < 10; ++i) {
    EXPECT_NE(FromVector(std::vector<int32_t>(100, -1))->address().value(), address);
  }
  EXPECT_TRUE(buffer->ReleaseExternalReference().ok());
}

TEST(Buffer, ViewsOfOtherMemory) {
  auto& device = static_cast<SyclDevice&>(*TestDevice());
  auto* memory =
      static_cast<int32_t*>(sycl::malloc_shared(40, device.sycl_device(), device.context()));
  for (int i = 0; i < 10; ++i) memory[i] = i;
  bool deleted = false;
  const ArrayShape shape = ArrayShape::RowMajor(program::ElementType::S32, {10});
  auto view = Buffer::View(memory, shape, TestMemory(), [&] { deleted = true; }).value();
  EXPECT_EQ(view->address().value(), memory);
  EXPECT_EQ(ToVector<int32_t>(*view).value(), Iota(10));
  auto part = view->PrefixView({2}).value();
  view.reset();
  EXPECT_FALSE(deleted);
  part.reset();
  EXPECT_TRUE(deleted);
  std::vector<int32_t> plain(10);
  EXPECT_EQ(Buffer::View(plain.data(), shape, TestMemory(), {}).status().code(),
            absl::StatusCode::kInvalidArgument);
  sycl::free(memory, device.context());
}

TEST(Buffer, ZeroCopyOfMemoryThatTheDeviceCanUse) {
  auto& device = static_cast<SyclDevice&>(*TestDevice());
  constexpr int64_t kSize = 1 << 18;
  auto* memory =
      static_cast<int32_t*>(sycl::malloc_host(kSize * sizeof(int32_t), device.context()));
  std::iota(memory, memory + kSize, 0);
  const ArrayShape shape = ArrayShape::RowMajor(program::ElementType::S32, {kSize});
  bool done = false;
  auto shared =
      FromHost(memory, shape, {}, HostBufferSemantics::kImmutableZeroCopy, [&] { done = true; });
  EXPECT_EQ(shared->address().value(), memory);
  EXPECT_EQ(ToVector<int32_t>(*shared).value(), Iota(kSize));
  EXPECT_FALSE(done);
  shared.reset();
  EXPECT_TRUE(done);
  auto copied = FromHost(memory, shape, {}, HostBufferSemantics::kImmutableOnlyDuringCall);
  EXPECT_NE(copied->address().value(), memory);
  sycl::free(memory, device.context());
  const std::vector<int32_t> plain = Iota(kSize);
  auto other = FromHost(plain.data(), shape, {}, HostBufferSemantics::kImmutableZeroCopy);
  EXPECT_NE(other->address().value(), plain.data());
  EXPECT_TRUE(other->ready()->Await().ok());
}

TEST(Buffer, CopiesBetweenMemorySpaces) {
  auto buffer = FromVector(Iota(1000));
  MemorySpace* pinned = TestDevice()->memory(MemoryKind::kPinnedHost);
  auto there = buffer->CopyTo(pinned, Origin::kJax).value();
  auto back = there->CopyTo(TestMemory(), Origin::kJax).value();
  EXPECT_EQ(there->memory(), pinned);
  EXPECT_EQ(ToVector<int32_t>(*there).value(), Iota(1000));
  EXPECT_EQ(ToVector<int32_t>(*back).value(), Iota(1000));
  ASSERT_TRUE(there->ready()->Await().ok());
  EXPECT_EQ(static_cast<int32_t*>(there->address().value())[999],
            999);  // the host reads it as it is
}

TEST(Buffer, FindLiveBufferGivesTheNewest) {
  auto buffer = FromVector(Iota(10));
  void* const address = buffer->address().value();
  EXPECT_EQ(FindLiveBuffer(address), buffer);
  auto view = buffer->PrefixView({10}).value();
  ASSERT_EQ(view->address().value(), address);
  EXPECT_EQ(FindLiveBuffer(address), view);
  view.reset();
  EXPECT_EQ(FindLiveBuffer(address), buffer);
  buffer->Delete();
  EXPECT_EQ(FindLiveBuffer(address), nullptr);
}

TEST(Buffer, CountsTransfersByOrigin) {
  Statistics& statistics = TestClient()->statistics();
  TransferCount& in = statistics.transfer(TransferDirection::kHostToDevice, Origin::kJax,
                                          TransferEntry::kFromHostBuffer);
  TransferCount& out = statistics.transfer(TransferDirection::kDeviceToHost, Origin::kTensorFlow,
                                           TransferEntry::kToHostBuffer);
  const uint64_t in_before = in.bytes, out_before = out.bytes;
  const std::vector<int32_t> host = Iota(25);
  auto buffer = FromHost(host.data(), ArrayShape::RowMajor(program::ElementType::S32, {25}));
  std::vector<int32_t> back(25);
  ASSERT_TRUE(buffer->ToHost(back.data(), {}, Origin::kTensorFlow)->Await().ok());
  EXPECT_EQ(in.bytes - in_before, 100);
  EXPECT_EQ(out.bytes - out_before, 100);
}

TEST(Buffer, TooLargeIsResourceExhausted) {
  const ArrayShape shape = ArrayShape::RowMajor(program::ElementType::F32, {int64_t{1} << 42});
  absl::Status status = Buffer::Uninitialized(shape, TestMemory()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("limit"));
}

}  // namespace
}  // namespace onexpu
