// What a reader of serialized programs accepts and refuses, byte by byte.
#include "pjrt_core/program/container.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "pjrt_core/program/container_format.h"
#include "pjrt_core/program/header.h"
#include "pjrt_core/program/hlo_proto.h"
#include "pjrt_core/program/writer.h"
#include "tests/program/sample_program.h"

namespace onexpu::program {
namespace {

std::vector<uint8_t> SampleBytes() {
  Writer writer;
  const auto bytes = Pack(writer, SampleProgram(writer));
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return {bytes->data(), bytes->data() + bytes->size()};
}

// Makes the header's own checksum fit again, so that a test reaches the check behind it.
void Reseal(std::vector<uint8_t>& bytes) {
  Header header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.header_checksum = HeaderChecksum(header);
  std::memcpy(bytes.data(), &header, sizeof(header));
}

TEST(ContainerTest, ReadsWhatTheWriterWrote) {
  const auto container = Container::Parse(SampleBytes());
  ASSERT_TRUE(container.ok()) << container.status();
  const Program& program = container->program();
  EXPECT_EQ(program.name()->str(), "sample");
  ASSERT_EQ(program.thunks()->thunks()->size(), 6u);
  const auto constant = container->blob(*program.allocations()->Get(3)->constant());
  EXPECT_EQ(std::vector<uint8_t>(constant.begin(), constant.end()), std::vector<uint8_t>(16, 7));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(constant.data()) % kBlobAlignment, 0u);
}

TEST(ContainerTest, AMovedContainerKeepsItsProgram) {
  auto container = Container::Parse(SampleBytes());
  ASSERT_TRUE(container.ok());
  const Program* program = &container->program();
  const Container moved = std::move(*container);
  EXPECT_EQ(&moved.program(), program);
}

TEST(ContainerTest, ReadsBytesOfAnyAlignment) {
  std::vector<uint8_t> shifted = SampleBytes();
  shifted.insert(shifted.begin(), 0);
  EXPECT_TRUE(Container::Parse(absl::MakeConstSpan(shifted).subspan(1)).ok());
}

TEST(ContainerTest, EveryFlippedBitOfTheHeaderIsAnError) {
  const std::vector<uint8_t> sound = SampleBytes();
  for (size_t byte = 0; byte < kHeaderBytes; ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<uint8_t> bytes = sound;
      bytes[byte] ^= 1 << bit;
      EXPECT_FALSE(Container::Parse(bytes).ok()) << "byte " << byte << ", bit " << bit;
    }
  }
}

TEST(ContainerTest, EveryResealedHeaderByteIsAnErrorToo) {
  const std::vector<uint8_t> sound = SampleBytes();
  for (size_t byte = 0; byte < offsetof(Header, header_checksum); ++byte) {
    for (const uint8_t value : {0x01, 0x80, 0xff}) {
      std::vector<uint8_t> bytes = sound;
      bytes[byte] ^= value;
      Reseal(bytes);
      EXPECT_FALSE(Container::Parse(bytes).ok()) << "byte " << byte;
    }
  }
}

TEST(ContainerTest, EveryFlippedByteBehindTheHeaderIsAnError) {
  const std::vector<uint8_t> sound = SampleBytes();
  Header header;
  std::memcpy(&header, sound.data(), sizeof(header));
  for (size_t byte = kHeaderBytes; byte < sound.size(); ++byte) {
    // The bytes that fill up to the blobs' alignment belong to nothing.
    if (byte >= kHeaderBytes + header.flatbuffer_bytes && byte < header.blobs_offset) continue;
    std::vector<uint8_t> bytes = sound;
    bytes[byte] ^= 0x10;
    EXPECT_FALSE(Container::Parse(bytes).ok()) << "byte " << byte;
  }
}

TEST(ContainerTest, DamageBehindMatchingChecksumsNeverCrashes) {
  const std::vector<uint8_t> sound = SampleBytes();
  Header header;
  std::memcpy(&header, sound.data(), sizeof(header));
  int refused = 0;
  for (size_t byte = kHeaderBytes; byte < kHeaderBytes + header.flatbuffer_bytes; ++byte) {
    for (const uint8_t value : {0x01, 0x80, 0xff}) {
      std::vector<uint8_t> bytes = sound;
      bytes[byte] ^= value;
      Header changed = header;
      changed.flatbuffer_checksum =
          Checksum(absl::MakeConstSpan(bytes).subspan(kHeaderBytes, header.flatbuffer_bytes));
      std::memcpy(bytes.data(), &changed, sizeof(changed));
      Reseal(bytes);
      refused += !Container::Parse(bytes).ok();
    }
  }
  EXPECT_GT(refused, 0);
}

TEST(ContainerTest, EveryTruncationIsAnError) {
  const std::vector<uint8_t> sound = SampleBytes();
  for (size_t size = 0; size < sound.size(); ++size) {
    EXPECT_FALSE(Container::Parse(absl::MakeConstSpan(sound).first(size)).ok()) << size;
  }
}

TEST(ContainerTest, TrailingBytesAreAnError) {
  std::vector<uint8_t> bytes = SampleBytes();
  bytes.push_back(0);
  EXPECT_FALSE(Container::Parse(bytes).ok());
}

TEST(ContainerTest, AnotherVersionIsNamed) {
  std::vector<uint8_t> bytes = SampleBytes();
  bytes[offsetof(Header, format_version)] += 1;
  Reseal(bytes);
  const auto container = Container::Parse(bytes);
  ASSERT_FALSE(container.ok());
  EXPECT_NE(std::string(container.status().message())
                .find(absl::StrCat("format version ", kProgramFormatVersion + 1)),
            std::string::npos)
      << container.status();
}

TEST(ContainerTest, InPlaceNeedsAlignment) {
  const auto aligned = [] {
    Writer writer;
    return *Pack(writer, SampleProgram(writer));
  }();
  EXPECT_TRUE(Container::ParseInPlace(aligned.span()).ok());
  AlignedBytes shifted(aligned.size() + 1);
  std::memcpy(shifted.data() + 1, aligned.data(), aligned.size());
  EXPECT_FALSE(Container::ParseInPlace(shifted.span().subspan(1)).ok());
}

TEST(ContainerTest, WritesTheHloWithItsLiterals) {
  Writer writer;
  ProgramT program = SampleProgram(writer);
  program.hlo_proto = std::make_unique<Blob>(writer.AddBlob(std::string("abcd")));
  const auto add = [&](uint64_t position, auto elements, LiteralEncoding encoding) {
    auto literal = std::make_unique<HloLiteralT>();
    literal->position = position;
    literal->blob = std::make_unique<Blob>(writer.AddBlob(std::string(
        reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(elements[0]))));
    literal->encoding = encoding;
    program.hlo_literals.push_back(std::move(literal));
  };
  add(0, std::string("raw"), LiteralEncoding::Raw);
  add(2, std::vector<int32_t>{1, 300, -1}, LiteralEncoding::S32);
  add(2, std::vector<uint32_t>{0xFFFFFFFFu}, LiteralEncoding::U32);
  add(4, std::vector<uint64_t>{0, ~uint64_t{0}}, LiteralEncoding::U64);
  const auto bytes = Pack(writer, program);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const auto container = Container::ParseInPlace(bytes->span());
  ASSERT_TRUE(container.ok()) << container.status();

  // https://protobuf.dev/programming-guides/encoding/#varints
  const std::string ones(9, '\xFF');
  const std::string expected = absl::StrCat(  //
      "raw", "ab", "\x01\xAC\x02", ones, "\x01", "\xFF\xFF\xFF\xFF\x0F", "cd", std::string(1, '\0'),
      ones, "\x01");
  std::string proto(HloProtoBytes(*container), '?');
  ASSERT_EQ(proto.size(), expected.size());
  WriteHloProto(*container, reinterpret_cast<uint8_t*>(proto.data()));
  EXPECT_EQ(proto, expected);
}

TEST(ContainerTest, ReleasesTheMemoryOfAnotherLibraryOnce) {
  const std::vector<uint8_t> sample = SampleBytes();
  AlignedBytes theirs(sample.size());
  std::memcpy(theirs.data(), sample.data(), sample.size());
  int released = 0;
  {
    auto container =
        Container::Parse(AlignedBytes(theirs.data(), theirs.size(), [&released] { ++released; }));
    ASSERT_TRUE(container.ok()) << container.status();
    EXPECT_EQ(container->bytes().data(), theirs.data());
    const Container moved = std::move(*container);
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

TEST(ContainerTest, AdoptsFinishedProgramsWithoutTheirChecksums) {
  const auto copy = [](absl::Span<const uint8_t> bytes) {
    AlignedBytes result(bytes.size());
    std::memcpy(result.data(), bytes.data(), bytes.size());
    return result;
  };
  const std::vector<uint8_t> sound = SampleBytes();
  const auto container = Container::AdoptFinished(copy(sound));
  ASSERT_TRUE(container.ok()) << container.status();
  EXPECT_EQ(container->program().name()->str(), "sample");
  std::vector<uint8_t> damaged = sound;
  damaged.back() ^= 1;  // of a blob
  EXPECT_FALSE(Container::Parse(copy(damaged)).ok());
  EXPECT_TRUE(Container::AdoptFinished(copy(damaged)).ok());
  damaged = sound;
  damaged[kHeaderBytes] ^= 0xff;  // where the FlatBuffer's root is
  EXPECT_FALSE(Container::AdoptFinished(copy(damaged)).ok());
  EXPECT_FALSE(Container::AdoptFinished(copy(absl::MakeConstSpan(sound).first(100))).ok());
}

TEST(WriterTest, EqualProgramsAreEqualBytes) {
  Writer first, second;
  const auto one = Pack(first, SampleProgram(first));
  {
    // Memory that is likely to be used again.
    AlignedBytes used(one->size());
    std::memset(used.data(), 0xff, used.size());
  }
  const auto two = Pack(second, SampleProgram(second));
  EXPECT_EQ(one->span(), two->span());
}

TEST(WriterTest, BorrowedBytesAreStoredOnce) {
  Writer writer;
  const std::vector<uint8_t> bytes(100, 1), equal(100, 1);
  const Blob first = writer.AddBorrowedBlob(bytes);
  EXPECT_EQ(writer.AddBorrowedBlob(bytes).offset(), first.offset());
  EXPECT_EQ(writer.AddBorrowedBlob(equal).offset(), first.offset());
  EXPECT_EQ(writer.AddBlob(bytes).offset(), first.offset());
  EXPECT_NE(writer.AddBorrowedBlob(absl::MakeConstSpan(bytes).first(99)).offset(), first.offset());
}

TEST(HeaderTest, CombinesChecksums) {
  std::vector<uint8_t> bytes(1000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * i);
  const absl::Span<const uint8_t> all = bytes;
  for (const size_t size : {0, 1, 64, 999, 1000}) {
    const uint32_t first = Checksum(all.first(size)), second = Checksum(all.subspan(size));
    EXPECT_EQ(CombineChecksums(first, second, all.size() - size), Checksum(all)) << size;
  }
}

TEST(WriterTest, EqualBlobsAreStoredOnce) {
  Writer writer;
  const std::vector<uint8_t> one(100, 1), two(100, 2);
  const Blob first = writer.AddBlob(one);
  const Blob second = writer.AddBlob(two);
  const Blob third = writer.AddBlob(one);
  EXPECT_EQ(first.offset(), third.offset());
  EXPECT_NE(first.offset(), second.offset());
  EXPECT_EQ(second.offset() % kBlobAlignment, 0u);
}

}  // namespace
}  // namespace onexpu::program
