// The bytes of a Program: a header, the FlatBuffer and the blobs, each guarded by a checksum.
//
//   offset 0                  header, kHeaderBytes
//   kHeaderBytes              the FlatBuffer, whose root is program.Program
//   header.blobs_offset       the blobs; every blob starts at a multiple of kBlobAlignment
//
// A Container can be trusted: the bytes are undamaged, the FlatBuffer is well formed, every index
// and slice is in range, and every required table is present. The runtime does not check again.
// Immutable; any thread may read it.
#ifndef PJRT_CORE_PROGRAM_CONTAINER_H_
#define PJRT_CORE_PROGRAM_CONTAINER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "pjrt_core/program/program_generated.h"

namespace onexpu::program {

// Memory that starts at a multiple of kBlobAlignment. Moves; the bytes stay where they are.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(size_t size);  // not initialised
  // Memory of another library, which `release` frees. Its alignment is kBlobAlignment or more.
  AlignedBytes(uint8_t* data, size_t size, std::function<void()> release);

  uint8_t* data() { return data_.get(); }
  const uint8_t* data() const { return data_.get(); }
  size_t size() const { return size_; }
  absl::Span<const uint8_t> span() const { return {data_.get(), size_}; }

 private:
  struct Free {
    void operator()(uint8_t* bytes) const;
    std::function<void()> release;  // empty: operator delete
  };
  std::unique_ptr<uint8_t, Free> data_;
  size_t size_ = 0;
};

class Container {
 public:
  // Copies `bytes`, which may have any alignment.
  static absl::StatusOr<Container> Parse(absl::Span<const uint8_t> bytes);
  // Takes over the memory.
  static absl::StatusOr<Container> Parse(AlignedBytes bytes);
  // Takes over a program that a Writer of this process or of a child process has just finished.
  // Verifies it like Parse, except for the checksums of the FlatBuffer and the blobs, because the
  // bytes have not been stored since.
  static absl::StatusOr<Container> AdoptFinished(AlignedBytes bytes);
  // Borrows: `bytes` must be aligned to kBlobAlignment and outlive the Container.
  static absl::StatusOr<Container> ParseInPlace(absl::Span<const uint8_t> bytes);

  const Program& program() const { return *program_; }
  // The bytes of a blob that this Program names.
  absl::Span<const uint8_t> blob(const Blob& blob) const {
    return blobs_.subspan(blob.offset(), blob.size());
  }
  // The whole container, to be stored or sent.
  absl::Span<const uint8_t> bytes() const { return bytes_; }

 private:
  enum class Checksums { kCompare, kTrust };

  Container() = default;

  static absl::StatusOr<Container> Read(absl::Span<const uint8_t> bytes, Checksums checksums);

  AlignedBytes owned_;  // empty when borrowed
  absl::Span<const uint8_t> bytes_;
  absl::Span<const uint8_t> blobs_;
  const Program* program_ = nullptr;
};

}  // namespace onexpu::program

#endif  // PJRT_CORE_PROGRAM_CONTAINER_H_
