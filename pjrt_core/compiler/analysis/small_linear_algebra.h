// Factorisations and triangular solves that are library calls by themselves, and code of the kernel
// in a small region (small_region.h). Pure functions.
#ifndef PJRT_CORE_COMPILER_ANALYSIS_SMALL_LINEAR_ALGEBRA_H_
#define PJRT_CORE_COMPILER_ANALYSIS_SMALL_LINEAR_ALGEBRA_H_

#include <cstdint>

#include "xla/hlo/ir/hlo_instruction.h"

namespace onexpu::compiler {

// Whether the instruction is a call that a region's kernel can compute: Cholesky and LU
// factorisations and triangular solves of f32 and f64.
bool HasRegionForm(const xla::HloInstruction& instruction);

// Whether each work-item of a region solves whole systems of the triangular solve, one row after
// the other. Otherwise the work-items share the rows, with a barrier after each.
bool SolvesWholeSystems(const xla::HloInstruction& solve, int64_t work_items);

// What a call costs in a region: barriers of the work-group, and steps of loops that all work-items
// run side by side.
struct RegionSteps {
  double barriers = 0;
  double serial = 0;
};
// Of calls that HasRegionForm.
RegionSteps RegionStepsOf(const xla::HloInstruction& call, int64_t work_items);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_ANALYSIS_SMALL_LINEAR_ALGEBRA_H_
