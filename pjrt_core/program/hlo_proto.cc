#include "pjrt_core/program/hlo_proto.h"

#include <cstring>

#include "absl/numeric/bits.h"

namespace onexpu::program {
namespace {

// https://protobuf.dev/programming-guides/encoding/#varints
size_t VarintBytes(uint64_t value) { return (absl::bit_width(value | 1) + 6) / 7; }

uint8_t* WriteVarint(uint64_t value, uint8_t* to) {
  for (; value >= 0x80; value >>= 7) *to++ = static_cast<uint8_t>(value | 0x80);
  *to++ = static_cast<uint8_t>(value);
  return to;
}

template <typename T>
uint64_t ReadElement(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return static_cast<uint64_t>(value);  // extends the sign of int32_t, as protobuf does
}

template <typename Visit>
void ForEachElement(absl::Span<const uint8_t> elements, LiteralEncoding encoding, Visit visit) {
  const size_t step = ElementBytes(encoding);
  for (size_t i = 0; i < elements.size(); i += step) {
    const uint8_t* const element = elements.data() + i;
    visit(encoding == LiteralEncoding::S32   ? ReadElement<int32_t>(element)
          : encoding == LiteralEncoding::U32 ? ReadElement<uint32_t>(element)
                                             : ReadElement<uint64_t>(element));
  }
}

uint8_t* Write(absl::Span<const uint8_t> bytes, uint8_t* to) {
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  return to + bytes.size();
}

}  // namespace

size_t ElementBytes(LiteralEncoding encoding) {
  switch (encoding) {
    case LiteralEncoding::Raw:
      return 1;
    case LiteralEncoding::S32:
    case LiteralEncoding::U32:
      return 4;
    case LiteralEncoding::U64:
      return 8;
  }
  return 0;
}

size_t EncodedBytes(absl::Span<const uint8_t> elements, LiteralEncoding encoding) {
  if (encoding == LiteralEncoding::Raw) return elements.size();
  size_t bytes = 0;
  ForEachElement(elements, encoding, [&](uint64_t value) { bytes += VarintBytes(value); });
  return bytes;
}

size_t HloProtoBytes(const Container& container) {
  const Program& program = container.program();
  if (program.hlo_proto() == nullptr) return 0;
  size_t bytes = program.hlo_proto()->size();
  if (program.hlo_literals() == nullptr) return bytes;
  for (const HloLiteral* literal : *program.hlo_literals()) {
    bytes += EncodedBytes(container.blob(*literal->blob()), literal->encoding());
  }
  return bytes;
}

void WriteHloProto(const Container& container, uint8_t* proto) {
  const Program& program = container.program();
  if (program.hlo_proto() == nullptr) return;
  const absl::Span<const uint8_t> stored = container.blob(*program.hlo_proto());
  size_t written = 0;
  if (program.hlo_literals() != nullptr) {
    for (const HloLiteral* literal : *program.hlo_literals()) {
      proto = Write(stored.subspan(written, literal->position() - written), proto);
      written = literal->position();
      const absl::Span<const uint8_t> elements = container.blob(*literal->blob());
      if (literal->encoding() == LiteralEncoding::Raw) {
        proto = Write(elements, proto);
      } else {
        ForEachElement(elements, literal->encoding(),
                       [&](uint64_t value) { proto = WriteVarint(value, proto); });
      }
    }
  }
  Write(stored.subspan(written), proto);
}

}  // namespace onexpu::program
