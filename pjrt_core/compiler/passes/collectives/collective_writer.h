// Writes the instructions that stand for a collective.
#ifndef PJRT_CORE_COMPILER_PASSES_COLLECTIVES_COLLECTIVE_WRITER_H_
#define PJRT_CORE_COMPILER_PASSES_COLLECTIVES_COLLECTIVE_WRITER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "pjrt_core/compiler/passes/collectives/collective_call.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"

namespace onexpu::compiler {

// `dimensions` with one of `size` at `place`.
std::vector<int64_t> With(absl::Span<const int64_t> dimensions, int64_t place, int64_t size);

// Instructions beside one collective, with its metadata.
class CollectiveWriter {
 public:
  explicit CollectiveWriter(xla::HloInstruction& collective) : collective_(collective) {}

  xla::HloInstruction* Add(std::unique_ptr<xla::HloInstruction> instruction);
  xla::HloInstruction* Reshape(xla::HloInstruction* array, absl::Span<const int64_t> dimensions);
  // Moves one dimension to another place.
  xla::HloInstruction* Move(xla::HloInstruction* array, int64_t from, int64_t to);
  xla::HloInstruction* Zeros(const xla::Shape& shape);
  // The first elements of every dimension.
  xla::HloInstruction* Prefix(xla::HloInstruction* array, absl::Span<const int64_t> dimensions);
  // array[place] along the first dimension, which goes.
  xla::HloInstruction* Part(xla::HloInstruction* array, int64_t place);
  xla::HloInstruction* Exchange(program::CollectiveKind kind, const ParticipantGroups& groups,
                                xla::HloInstruction* source, absl::Span<const int64_t> dimensions);
  // The replica or the partition that runs this, u32[].
  xla::HloInstruction* OwnNumber(program::ParticipantNumber number);
  // array[place] along the first dimension, which goes; place is s32[], and clamped.
  xla::HloInstruction* PartAt(xla::HloInstruction* array, xla::HloInstruction* place);
  // [n, ...] -> [...]: a chain, for it keeps the combiner's own types and needs no identity.
  xla::HloInstruction* Combine(xla::HloInstruction* parts, xla::HloComputation* combiner);

 private:
  xla::HloInstruction& collective_;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_COLLECTIVES_COLLECTIVE_WRITER_H_
