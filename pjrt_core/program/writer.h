// Builds the bytes of a Program: blobs first, then the FlatBuffer that names them.
//
// The caller builds tables with builder(), adds blobs as it goes and hands over the root.
// Thread-compatible; used once.
#ifndef PJRT_CORE_PROGRAM_WRITER_H_
#define PJRT_CORE_PROGRAM_WRITER_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "flatbuffers/flatbuffers.h"
#include "pjrt_core/program/container.h"
#include "pjrt_core/program/program_generated.h"

namespace onexpu::program {

class Writer {
 public:
  flatbuffers::FlatBufferBuilder& builder() { return builder_; }

  // Copies the bytes. Equal bytes are stored once and get the same Blob.
  Blob AddBlob(absl::Span<const uint8_t> bytes);

  // The finished container. The result is verified as a reader would, so a compiler's mistake shows
  // here.
  absl::StatusOr<AlignedBytes> Finish(flatbuffers::Offset<Program> root);

 private:
  flatbuffers::FlatBufferBuilder builder_;
  std::vector<uint8_t> blobs_;
  // (checksum, size) -> offsets of blobs that have them.
  std::multimap<std::pair<uint32_t, uint64_t>, uint64_t> known_;
};

}  // namespace onexpu::program

#endif  // PJRT_CORE_PROGRAM_WRITER_H_
