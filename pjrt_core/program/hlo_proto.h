// The optimised HLO of a Program: a serialized xla.HloModuleProtoWithConfig.
//
// It is stored without the elements of large literals, because most of them are constants of the
// Program, whose blobs have the same bytes. Pure functions of a verified container.
#ifndef PJRT_CORE_PROGRAM_HLO_PROTO_H_
#define PJRT_CORE_PROGRAM_HLO_PROTO_H_

#include <cstddef>
#include <cstdint>

#include "pjrt_core/program/container.h"

namespace onexpu::program {

// The size of the whole proto. 0: the Program was stored without it.
size_t HloProtoBytes(const Container& container);

// Writes HloProtoBytes(container) bytes.
void WriteHloProto(const Container& container, uint8_t* proto);

}  // namespace onexpu::program

#endif  // PJRT_CORE_PROGRAM_HLO_PROTO_H_
