#include "pjrt_core/program/header.h"

#include <zlib.h>

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace onexpu::program {

uint32_t Checksum(absl::Span<const uint8_t> bytes) {
  return static_cast<uint32_t>(crc32_z(0, bytes.data(), bytes.size()));
}

uint32_t HeaderChecksum(const Header& header) {
  return Checksum({reinterpret_cast<const uint8_t*>(&header), offsetof(Header, header_checksum)});
}

}  // namespace onexpu::program
