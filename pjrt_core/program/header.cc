#include "pjrt_core/program/header.h"

#include <zlib.h>

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace onexpu::program {

uint32_t Checksum(absl::Span<const uint8_t> bytes) {
  return static_cast<uint32_t>(crc32_z(0, bytes.data(), bytes.size()));
}

uint32_t CombineChecksums(uint32_t first, uint32_t second, uint64_t second_size) {
  static_assert(sizeof(z_off_t) == sizeof(second_size));
  return static_cast<uint32_t>(crc32_combine(first, second, static_cast<z_off_t>(second_size)));
}

uint32_t HeaderChecksum(const Header& header) {
  return Checksum({reinterpret_cast<const uint8_t*>(&header), offsetof(Header, header_checksum)});
}

}  // namespace onexpu::program
