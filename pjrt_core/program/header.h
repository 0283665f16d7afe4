// The fixed first bytes of a container. Little-endian, as every device that we run on.
#ifndef PJRT_CORE_PROGRAM_HEADER_H_
#define PJRT_CORE_PROGRAM_HEADER_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "pjrt_core/program/container_format.h"

namespace onexpu::program {

inline constexpr char kMagic[8] = {'O', 'N', 'E', 'X', 'P', 'U', 'P', 'G'};

struct Header {
  char magic[8];
  uint32_t format_version;
  uint32_t header_bytes;
  uint64_t flatbuffer_bytes;
  uint64_t blobs_offset;
  uint64_t blobs_bytes;
  uint32_t flatbuffer_checksum;
  uint32_t blobs_checksum;
  uint8_t reserved[12];      // zero
  uint32_t header_checksum;  // of all bytes before it
};
static_assert(sizeof(Header) == kHeaderBytes);
static_assert(offsetof(Header, header_checksum) == kHeaderBytes - sizeof(uint32_t));

// CRC-32 of the bytes, of any length.
uint32_t Checksum(absl::Span<const uint8_t> bytes);
// The checksum of bytes with checksum `first`, followed by `second_size` bytes with checksum
// `second`. Reads none of them.
uint32_t CombineChecksums(uint32_t first, uint32_t second, uint64_t second_size);
// The checksum that belongs into `header`.
uint32_t HeaderChecksum(const Header& header);

}  // namespace onexpu::program

#endif  // PJRT_CORE_PROGRAM_HEADER_H_
