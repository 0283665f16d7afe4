// Builds the bytes of a Program: blobs first, then the FlatBuffer that names them.
//
// The caller builds tables with builder(), adds blobs as it goes and hands over the root.
// Thread-compatible; used once.
#ifndef PJRT_CORE_PROGRAM_WRITER_H_
#define PJRT_CORE_PROGRAM_WRITER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <string>
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

  // Equal bytes are stored once and get the same Blob. The checksum of each blob is computed here;
  // Finish combines them.
  Blob AddBlob(std::string bytes);
  Blob AddBlob(absl::Span<const uint8_t> bytes);  // copies
  // Reads the bytes here and in Finish.
  Blob AddBorrowedBlob(absl::Span<const uint8_t> bytes);

  // The finished container. Verifies the Program, so a compiler's mistake shows here.
  absl::StatusOr<AlignedBytes> Finish(flatbuffers::Offset<Program> root);

 private:
  struct StoredBlob {
    uint64_t offset;
    absl::Span<const uint8_t> bytes;
    uint32_t checksum;
  };

  Blob Store(absl::Span<const uint8_t> bytes);
  // Copies the blobs to `destination`, with zeros in between. Returns the checksum of all.
  uint32_t CopyBlobs(uint8_t* destination) const;

  flatbuffers::FlatBufferBuilder builder_;
  std::vector<StoredBlob> blobs_;
  std::deque<std::string> owned_;  // the bytes of those that are not borrowed
  uint64_t blobs_end_ = 0;
  // (checksum, size) -> indices of blobs that have them.
  std::multimap<std::pair<uint32_t, uint64_t>, size_t> known_;
  // (address, size) -> the blob with these bytes, which are not read again.
  std::map<std::pair<const uint8_t*, uint64_t>, Blob> borrowed_;
};

}  // namespace onexpu::program

#endif  // PJRT_CORE_PROGRAM_WRITER_H_
