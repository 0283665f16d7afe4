// How protos hold the elements of literals. Pure functions.
#ifndef PJRT_CORE_PROGRAM_LITERAL_ENCODING_H_
#define PJRT_CORE_PROGRAM_LITERAL_ENCODING_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "pjrt_core/program/program_generated.h"

namespace onexpu::program {

// The bytes of an element in memory; 0: unknown encoding.
size_t ElementBytes(LiteralEncoding encoding);

// The size of elements in a proto. Those in memory are not necessarily aligned.
size_t EncodedBytes(absl::Span<const uint8_t> elements, LiteralEncoding encoding);

// Writes EncodedBytes bytes; returns the end.
uint8_t* Encode(absl::Span<const uint8_t> elements, LiteralEncoding encoding, uint8_t* to);

}  // namespace onexpu::program

#endif  // PJRT_CORE_PROGRAM_LITERAL_ENCODING_H_
