// XLA's layout assignment with oneDNN's preferences: the images of a convolution are channels-last,
// because a plain channels-first one takes a slow path, and weights follow their surroundings; and
// with LAPACK's: most of its factorisations take and give matrices by columns.
// Thread-compatible.
#ifndef PJRT_CORE_COMPILER_PASSES_LAYOUT_LAYOUT_ASSIGNMENT_H_
#define PJRT_CORE_COMPILER_PASSES_LAYOUT_LAYOUT_ASSIGNMENT_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "xla/service/computation_layout.h"
#include "xla/service/layout_assignment.h"

namespace onexpu::compiler {

class LayoutAssignment : public xla::LayoutAssignment {
 public:
  using xla::LayoutAssignment::LayoutAssignment;
  absl::string_view name() const override { return "xpu-layout-assignment"; }

 protected:
  absl::Status AddBackendConstraints(LayoutConstraints* constraints) override;

 private:
  // By rows.
  absl::Status ConstrainToDefaults(const xla::HloInstruction* call);
  absl::Status ConstrainToColumns(const xla::HloInstruction* call);
  // A product that is only transposed is written where the transpose would put it.
  absl::Status ConstrainToTranspose(const xla::HloInstruction* product);
  // What every turn of a loop multiplies with is laid out for it once, before the loop: a product
  // by columns costs oneDNN's BLAS up to twice as much (20 x 256 x 1024: 67 and 158 us).
  absl::Status ConstrainToRows(const xla::HloInstruction* product);
  // What a kernel of blocks reads and writes side by side.
  absl::Status ConstrainToBlocks(const xla::HloInstruction* dot);
  // Keys and values lie by keys, the sums as what reads them wants them.
  absl::Status ConstrainAttention(const xla::HloInstruction* fusion);
  // A transform whose dimension a transpose brought to the end: where that dimension was.
  absl::Status ConstrainToLines(const xla::HloInstruction* fft);
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_LAYOUT_LAYOUT_ASSIGNMENT_H_
