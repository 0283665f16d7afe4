#include "pjrt_core/program/writer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "pjrt_core/program/container_format.h"
#include "pjrt_core/program/header.h"
#include "pjrt_core/program/verifier.h"

namespace onexpu::program {
namespace {

constexpr size_t RoundUp(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

absl::Span<const uint8_t> Bytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace

Blob Writer::AddBorrowedBlob(absl::Span<const uint8_t> bytes) {
  const auto [known, inserted] = borrowed_.try_emplace({bytes.data(), bytes.size()});
  if (inserted) known->second = Store(bytes);
  return known->second;
}

Blob Writer::Store(absl::Span<const uint8_t> bytes) {
  const uint32_t checksum = Checksum(bytes);
  const std::pair<uint32_t, uint64_t> key(checksum, bytes.size());
  const auto [first, last] = known_.equal_range(key);
  for (auto known = first; known != last; ++known) {
    const StoredBlob& blob = blobs_[known->second];
    if (bytes.empty() || std::memcmp(blob.bytes.data(), bytes.data(), bytes.size()) == 0) {
      return Blob(blob.offset, bytes.size());
    }
  }
  const uint64_t offset = RoundUp(blobs_end_, kBlobAlignment);
  known_.emplace(key, blobs_.size());
  blobs_.push_back({offset, bytes, checksum});
  blobs_end_ = offset + bytes.size();
  return Blob(offset, bytes.size());
}

Blob Writer::AddBlob(std::string bytes) {
  owned_.push_back(std::move(bytes));
  return Store(Bytes(owned_.back()));
}

Blob Writer::AddBlob(absl::Span<const uint8_t> bytes) {
  return AddBlob(std::string(bytes.begin(), bytes.end()));
}

uint32_t Writer::CopyBlobs(uint8_t* destination) const {
  constexpr uint8_t kZeros[kBlobAlignment] = {};
  uint64_t end = 0;
  uint32_t checksum = Checksum({});
  for (const StoredBlob& blob : blobs_) {
    const absl::Span<const uint8_t> gap(kZeros, blob.offset - end);
    std::copy(gap.begin(), gap.end(), destination + end);
    std::copy(blob.bytes.begin(), blob.bytes.end(), destination + blob.offset);
    checksum = CombineChecksums(checksum, Checksum(gap), gap.size());
    checksum = CombineChecksums(checksum, blob.checksum, blob.bytes.size());
    end = blob.offset + blob.bytes.size();
  }
  return checksum;
}

absl::StatusOr<AlignedBytes> Writer::Finish(flatbuffers::Offset<Program> root) {
  FinishProgramBuffer(builder_, root);
  const absl::Span<const uint8_t> flatbuffer(builder_.GetBufferPointer(), builder_.GetSize());

  Header header = {};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.format_version = kProgramFormatVersion;
  header.header_bytes = kHeaderBytes;
  header.flatbuffer_bytes = flatbuffer.size();
  header.blobs_offset = RoundUp(kHeaderBytes + flatbuffer.size(), kBlobAlignment);
  header.blobs_bytes = blobs_end_;
  header.flatbuffer_checksum = Checksum(flatbuffer);

  AlignedBytes bytes(header.blobs_offset + header.blobs_bytes);
  uint8_t* const end = std::copy(flatbuffer.begin(), flatbuffer.end(), bytes.data() + kHeaderBytes);
  uint8_t* const blobs = bytes.data() + header.blobs_offset;
  std::fill(end, blobs, uint8_t{0});
  header.blobs_checksum = CopyBlobs(blobs);
  header.header_checksum = HeaderChecksum(header);
  std::memcpy(bytes.data(), &header, sizeof(header));
  const absl::Status status = VerifyProgram(*GetProgram(bytes.data() + kHeaderBytes),
                                            bytes.span().subspan(header.blobs_offset));
  if (!status.ok()) {
    return absl::InternalError(absl::StrCat(
        "onexpu: the compiler wrote a program that does not verify: ", status.message()));
  }
  return bytes;
}

}  // namespace onexpu::program
