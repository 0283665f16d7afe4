// The optimised HLO of a Program: a serialized xla.HloModuleProtoWithConfig.
//
// It is stored without the elements of large literals, because most of them are constants of the
// Program, whose blobs have the same bytes. Pure functions of a verified container.
#ifndef PJRT_CORE_PROGRAM_HLO_PROTO_H_
#define PJRT_CORE_PROGRAM_HLO_PROTO_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "pjrt_core/program/container.h"
#include "pjrt_core/program/program_generated.h"

namespace onexpu::program {

// The bytes of an element in memory; 0: unknown encoding.
size_t ElementBytes(LiteralEncoding encoding);

// The size of a literal's elements in a proto. Those in memory are not necessarily aligned.
size_t EncodedBytes(absl::Span<const uint8_t> elements, LiteralEncoding encoding);

// The size of the whole proto. 0: the Program was stored without it.
size_t HloProtoBytes(const Container& container);

// Writes HloProtoBytes(container) bytes.
void WriteHloProto(const Container& container, uint8_t* proto);

}  // namespace onexpu::program

#endif  // PJRT_CORE_PROGRAM_HLO_PROTO_H_
