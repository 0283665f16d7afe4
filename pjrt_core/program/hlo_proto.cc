#include "pjrt_core/program/hlo_proto.h"

#include "absl/types/span.h"
#include "pjrt_core/program/literal_encoding.h"

namespace onexpu::program {

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
      proto = Encode(stored.subspan(written, literal->position() - written), LiteralEncoding::Raw,
                     proto);
      written = literal->position();
      proto = Encode(container.blob(*literal->blob()), literal->encoding(), proto);
    }
  }
  Encode(stored.subspan(written), LiteralEncoding::Raw, proto);
}

}  // namespace onexpu::program
