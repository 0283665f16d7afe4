// Fuzzes the reader of programs with libFuzzer and the address sanitizer.
//
// An input is a FlatBuffer; the container around it is made here, with checksums that fit, and
// holds blobs that begin as a SPIR-V module does wherever one may begin. Whatever Parse takes is
// then read as the runtime reads it, which must stay inside of the bytes.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "pjrt_core/program/container.h"
#include "pjrt_core/program/container_format.h"
#include "pjrt_core/program/header.h"
#include "pjrt_core/program/literal_encoding.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t largest);

namespace onexpu::program {
namespace {

constexpr size_t kBlobBytes = 64 << 10;  // the programs of the seeds have less
constexpr uint32_t kSpirvMagic = 0x07230203;

size_t RoundUp(size_t size) {
  return (size + kBlobAlignment - 1) / kBlobAlignment * kBlobAlignment;
}

AlignedBytes Seal(absl::Span<const uint8_t> flatbuffer) {
  Header header = {};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.format_version = kProgramFormatVersion;
  header.header_bytes = kHeaderBytes;
  header.flatbuffer_bytes = flatbuffer.size();
  header.blobs_offset = RoundUp(kHeaderBytes + flatbuffer.size());
  header.blobs_bytes = kBlobBytes;
  AlignedBytes bytes(header.blobs_offset + kBlobBytes);
  std::memset(bytes.data(), 0, bytes.size());
  uint8_t* const blobs = bytes.data() + header.blobs_offset;
  for (size_t i = 0; i < kBlobBytes; i += kBlobAlignment) {
    std::memcpy(blobs + i, &kSpirvMagic, sizeof(kSpirvMagic));
  }
  header.flatbuffer_checksum = Checksum(flatbuffer);
  header.blobs_checksum = Checksum({blobs, kBlobBytes});
  header.header_checksum = HeaderChecksum(header);
  std::memcpy(bytes.data(), &header, sizeof(header));
  if (!flatbuffer.empty()) {
    std::memcpy(bytes.data() + kHeaderBytes, flatbuffer.data(), flatbuffer.size());
  }
  return bytes;
}

// Every byte is read, so that the sanitizer sees it.
uint64_t Sum(absl::Span<const uint8_t> bytes) {
  uint64_t sum = 0;
  for (const uint8_t byte : bytes) sum += byte;
  return sum;
}

// Memory as the runtime lays it out: what a slice names has to be there.
class Memory {
 public:
  explicit Memory(const Program& program) {
    for (const Allocation* allocation : *program.allocations()) {
      starts_.push_back(end_);
      if (__builtin_add_overflow(end_, allocation->size(), &end_)) std::abort();
    }
    starts_.push_back(end_);
  }
  void Check(const Slice& slice) const {
    const uint64_t size = starts_.at(slice.allocation() + 1) - starts_.at(slice.allocation());
    if (slice.offset() > size || slice.size() > size - slice.offset()) std::abort();
  }

 private:
  std::vector<uint64_t> starts_;
  uint64_t end_ = 0;
};

void Walk(const ThunkSequence& sequence, const Memory& memory) {
  for (const Thunk* thunk : *sequence.thunks()) {
    if (const auto* kernel = thunk->kind_as_KernelThunk()) {
      for (const Slice* slice : *kernel->arguments()) memory.Check(*slice);
    } else if (const auto* copy = thunk->kind_as_CopyThunk()) {
      memory.Check(*copy->source());
      memory.Check(*copy->destination());
      if (copy->source()->size() != copy->destination()->size()) std::abort();
    } else if (const auto* gemm = thunk->kind_as_GemmThunk()) {
      for (const Tensor* tensor : {gemm->lhs(), gemm->rhs(), gemm->result()}) {
        memory.Check(*tensor->slice());
      }
    } else if (const auto* call = thunk->kind_as_CallThunk()) {
      Walk(*call->body(), memory);
    } else if (const auto* loop = thunk->kind_as_WhileThunk()) {
      if (loop->condition() != nullptr) Walk(*loop->condition(), memory);
      Walk(*loop->body(), memory);
    } else if (const auto* conditional = thunk->kind_as_ConditionalThunk()) {
      for (const ThunkSequence* branch : *conditional->branches()) Walk(*branch, memory);
    } else if (const auto* custom = thunk->kind_as_CustomCallThunk()) {
      for (const auto* buffers : {custom->operands(), custom->results()}) {
        for (const FfiBuffer* buffer : *buffers) memory.Check(*buffer->slice());
      }
    }
  }
}

void ReadAsTheRuntime(const Container& container) {
  const Program& program = container.program();
  const Memory memory(program);
  uint64_t sum = 0;
  for (const Blob* module : *program.modules()) sum += Sum(container.blob(*module));
  for (const Allocation* allocation : *program.allocations()) {
    if (allocation->constant() != nullptr) sum += Sum(container.blob(*allocation->constant()));
  }
  for (const Blob* blob : {program.hlo_proto(), program.compile_options()}) {
    if (blob != nullptr) sum += Sum(container.blob(*blob));
  }
  if (program.hlo_literals() != nullptr) {
    for (const HloLiteral* literal : *program.hlo_literals()) {
      sum += EncodedBytes(container.blob(*literal->blob()), literal->encoding());
    }
  }
  for (const Parameter* parameter : *program.parameters()) memory.Check(*parameter->slice());
  for (const Result* result : *program.results()) memory.Check(*result->slice());
  Walk(*program.thunks(), memory);
  volatile uint64_t sink = sum;  // so that the reads are not optimised away
  (void)sink;
}

}  // namespace
}  // namespace onexpu::program

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using onexpu::program::Container;
  // As it is, too: headers are an input like others.
  (void)Container::Parse(absl::Span<const uint8_t>(data, size));
  const absl::StatusOr<Container> container = Container::Parse(onexpu::program::Seal({data, size}));
  if (container.ok()) onexpu::program::ReadAsTheRuntime(*container);
  return 0;
}

// Fields are aligned to their size: one of them gets a number that borders on something, or another
// field's.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t largest,
                                          unsigned int seed) {
  std::minstd_rand random(seed);
  if (size < 64 || random() % 4 == 0) return LLVMFuzzerMutate(data, size, largest);
  constexpr uint64_t kNumbers[] = {0,          1,           2,          3,          4,
                                   16,         63,          64,         65,         255,
                                   1ull << 31, ~0ull >> 33, 1ull << 32, 1ull << 60, 1ull << 62,
                                   1ull << 63, ~0ull >> 1,  ~0ull,      ~0ull - 63};
  for (int changes = 1 + random() % 3; changes > 0; --changes) {
    const size_t width = size_t{1} << (random() % 4);
    uint8_t* const field = data + random() % (size / width) * width;
    uint64_t value = 0;
    std::memcpy(&value, field, width);
    switch (random() % 4) {
      case 0:
        value += random() % 2 == 0 ? 1 : -1;
        break;
      case 1:
        std::memcpy(&value, data + random() % (size / width) * width, width);
        break;
      default:
        value = kNumbers[random() % std::size(kNumbers)];
    }
    std::memcpy(field, &value, width);
  }
  return size;
}
