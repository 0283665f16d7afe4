#include "pjrt_core/program/writer.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/program/container_format.h"
#include "pjrt_core/program/header.h"

namespace onexpu::program {
namespace {

constexpr size_t RoundUp(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

Blob Writer::AddBlob(absl::Span<const uint8_t> bytes) {
  const std::pair<uint32_t, uint64_t> key(Checksum(bytes), bytes.size());
  const auto [first, last] = known_.equal_range(key);
  for (auto known = first; known != last; ++known) {
    if (bytes.empty() ||
        std::memcmp(blobs_.data() + known->second, bytes.data(), bytes.size()) == 0) {
      return Blob(known->second, bytes.size());
    }
  }
  const uint64_t offset = RoundUp(blobs_.size(), kBlobAlignment);
  blobs_.resize(offset, 0);
  blobs_.insert(blobs_.end(), bytes.begin(), bytes.end());
  known_.emplace(key, offset);
  return Blob(offset, bytes.size());
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
  header.blobs_bytes = blobs_.size();
  header.flatbuffer_checksum = Checksum(flatbuffer);
  header.blobs_checksum = Checksum(blobs_);
  header.header_checksum = HeaderChecksum(header);

  AlignedBytes bytes(header.blobs_offset + header.blobs_bytes);
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::memcpy(bytes.data() + kHeaderBytes, flatbuffer.data(), flatbuffer.size());
  if (!blobs_.empty()) {
    std::memcpy(bytes.data() + header.blobs_offset, blobs_.data(), blobs_.size());
  }
  const auto parsed = Container::ParseInPlace(bytes.span());
  if (!parsed.ok()) {
    return absl::InternalError(absl::StrCat(
        "onexpu: the compiler wrote a program that does not verify: ", parsed.status().message()));
  }
  return bytes;
}

}  // namespace onexpu::program
