#include "pjrt_core/program/literal_encoding.h"

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

uint8_t* Encode(absl::Span<const uint8_t> elements, LiteralEncoding encoding, uint8_t* to) {
  if (encoding == LiteralEncoding::Raw) {
    if (!elements.empty()) std::memcpy(to, elements.data(), elements.size());
    return to + elements.size();
  }
  ForEachElement(elements, encoding, [&](uint64_t value) { to = WriteVarint(value, to); });
  return to;
}

}  // namespace onexpu::program
