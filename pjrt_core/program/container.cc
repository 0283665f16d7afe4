#include "pjrt_core/program/container.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "flatbuffers/flatbuffers.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/program/container_format.h"
#include "pjrt_core/program/header.h"
#include "pjrt_core/program/program_generated.h"
#include "pjrt_core/program/verifier.h"

namespace onexpu::program {
namespace {

constexpr size_t kMaxFlatBufferBytes = FLATBUFFERS_MAX_BUFFER_SIZE;
// A while inside a while costs three tables of depth; a program with this many nested loops does
// not exist.
constexpr uint32_t kMaxTableDepth = 512;

absl::Status Damaged(const char* what) {
  return absl::InvalidArgumentError(absl::StrCat("onexpu: serialized program is damaged: ", what));
}

absl::Status CheckHeader(const Header& header, size_t bytes) {
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0) {
    return absl::InvalidArgumentError("onexpu: not a serialized onexpu program (bad magic number)");
  }
  if (header.header_checksum != HeaderChecksum(header)) return Damaged("header checksum");
  if (header.format_version != kProgramFormatVersion) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: serialized program has format version ", header.format_version,
                     ", this library reads version ", kProgramFormatVersion, "; compile it again"));
  }
  if (header.header_bytes != kHeaderBytes) return Damaged("header size");
  for (uint8_t reserved : header.reserved) {
    if (reserved != 0) return Damaged("reserved header bytes");
  }
  if (header.flatbuffer_bytes > kMaxFlatBufferBytes ||
      header.flatbuffer_bytes > bytes - kHeaderBytes) {
    return Damaged("truncated");
  }
  if (header.blobs_offset % kBlobAlignment != 0 ||
      header.blobs_offset < kHeaderBytes + header.flatbuffer_bytes) {
    return Damaged("offset of the blobs");
  }
  if (header.blobs_offset > bytes || header.blobs_bytes != bytes - header.blobs_offset) {
    return Damaged("truncated");
  }
  return absl::OkStatus();
}

}  // namespace

AlignedBytes::AlignedBytes(size_t size)
    : data_(static_cast<uint8_t*>(
          ::operator new(size == 0 ? 1 : size, std::align_val_t(kBlobAlignment)))),
      size_(size) {}

AlignedBytes::AlignedBytes(uint8_t* data, size_t size, std::function<void()> release)
    : data_(data, Free{std::move(release)}), size_(size) {}

void AlignedBytes::Free::operator()(uint8_t* bytes) const {
  if (release) return release();
  ::operator delete(bytes, std::align_val_t(kBlobAlignment));
}

absl::StatusOr<Container> Container::Parse(absl::Span<const uint8_t> bytes) {
  // Cheap refusal first: whatever a caller took for a program need not be copied.
  if (bytes.size() < kHeaderBytes) return Damaged("shorter than its header");
  AlignedBytes copy(bytes.size());
  std::memcpy(copy.data(), bytes.data(), bytes.size());
  return Parse(std::move(copy));
}

absl::StatusOr<Container> Container::Parse(AlignedBytes bytes) {
  ONEXPU_ASSIGN_OR_RETURN(Container container, ParseInPlace(bytes.span()));
  container.owned_ = std::move(bytes);
  return container;
}

absl::StatusOr<Container> Container::AdoptFinished(AlignedBytes bytes) {
  ONEXPU_ASSIGN_OR_RETURN(Container container, Read(bytes.span(), Checksums::kTrust));
  container.owned_ = std::move(bytes);
  return container;
}

absl::StatusOr<Container> Container::ParseInPlace(absl::Span<const uint8_t> bytes) {
  return Read(bytes, Checksums::kCompare);
}

absl::StatusOr<Container> Container::Read(absl::Span<const uint8_t> bytes, Checksums checksums) {
  if (bytes.size() < kHeaderBytes) return Damaged("shorter than its header");
  if (reinterpret_cast<uintptr_t>(bytes.data()) % kBlobAlignment != 0) {
    return absl::InternalError("onexpu: a program read in place must be aligned to 64 bytes");
  }
  Header header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  ONEXPU_RETURN_IF_ERROR(CheckHeader(header, bytes.size()));

  const absl::Span<const uint8_t> flatbuffer = bytes.subspan(kHeaderBytes, header.flatbuffer_bytes);
  const absl::Span<const uint8_t> blobs = bytes.subspan(header.blobs_offset);
  if (checksums == Checksums::kCompare) {
    if (Checksum(flatbuffer) != header.flatbuffer_checksum) return Damaged("checksum");
    if (Checksum(blobs) != header.blobs_checksum) return Damaged("checksum of the blobs");
  }

  // A table takes at least eight bytes, so this bound never refuses a sound program.
  const auto tables = static_cast<uint32_t>(flatbuffer.size() / 8 + 1);
  flatbuffers::Verifier verifier(flatbuffer.data(), flatbuffer.size(), kMaxTableDepth, tables);
  if (!VerifyProgramBuffer(verifier)) return Damaged("not a well-formed FlatBuffer");

  Container container;
  container.bytes_ = bytes;
  container.blobs_ = blobs;
  container.program_ = GetProgram(flatbuffer.data());
  ONEXPU_RETURN_IF_ERROR(VerifyProgram(*container.program_, blobs));
  return container;
}

}  // namespace onexpu::program
