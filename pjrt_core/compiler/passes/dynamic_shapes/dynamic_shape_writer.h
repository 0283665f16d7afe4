// Writes HLO that computes with the sizes of bounded dynamic dimensions, for passes that run before
// XLA's DynamicPadder. Thread-compatible.
#ifndef PJRT_CORE_COMPILER_PASSES_DYNAMIC_SHAPES_DYNAMIC_SHAPE_WRITER_H_
#define PJRT_CORE_COMPILER_PASSES_DYNAMIC_SHAPES_DYNAMIC_SHAPE_WRITER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {

// Adds instructions to the computation of the one that is replaced, with its metadata.
class DynamicShapeWriter {
 public:
  explicit DynamicShapeWriter(xla::HloInstruction* replaced) : replaced_(replaced) {}

  xla::HloInstruction* Add(std::unique_ptr<xla::HloInstruction> instruction) const;

  // An s32 scalar.
  xla::HloInstruction* Constant(int64_t value) const;
  xla::HloInstruction* Zero(xla::PrimitiveType type) const;
  // `a` and `b` of one shape; the second form for s32 scalars.
  xla::HloInstruction* Compute(xla::HloOpcode opcode, xla::HloInstruction* a,
                               xla::HloInstruction* b) const;
  xla::HloInstruction* Compute(xla::HloOpcode opcode, xla::HloInstruction* a, int64_t b) const;
  xla::HloInstruction* AtLeastZero(xla::HloInstruction* a) const;

  // How many elements there are in `dimension`, an s32 scalar.
  xla::HloInstruction* Size(xla::HloInstruction* array, int64_t dimension) const;
  xla::HloInstruction* SetSize(xla::HloInstruction* array, int64_t dimension,
                               xla::HloInstruction* size) const;
  // The array with its bounds for sizes, and any elements beyond the former sizes.
  xla::HloInstruction* Static(xla::HloInstruction* array) const;
  // The array as Static has it, with `padding`, a scalar, beyond the sizes of these dimensions.
  xla::HloInstruction* Masked(xla::HloInstruction* array, absl::Span<const int64_t> dimensions,
                              xla::HloInstruction* padding) const;
  // Matrices in the last two dimensions that continue as the identity.
  xla::HloInstruction* ContinuedByIdentity(xla::HloInstruction* matrices) const;

  absl::Status ReplaceBy(xla::HloInstruction* replacement) const;

 private:
  // Which elements are inside of the sizes of these dimensions.
  xla::HloInstruction* IsInside(xla::HloInstruction* array,
                                absl::Span<const int64_t> dimensions) const;

  xla::HloInstruction* const replaced_;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_DYNAMIC_SHAPES_DYNAMIC_SHAPE_WRITER_H_
