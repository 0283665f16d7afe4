// Which loops, branches and calls are better one kernel than a launch per operation: those whose
// work per step is so little that a work-group does it sooner than the launches would take. Pure
// functions of the module and the target.
#ifndef PJRT_CORE_COMPILER_ANALYSIS_SMALL_REGION_H_
#define PJRT_CORE_COMPILER_ANALYSIS_SMALL_REGION_H_

#include <cstdint>
#include <optional>

#include "pjrt_core/compiler/target/target.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace onexpu::compiler {

// `instruction` is a kWhile, kConditional or kCall. On a GPU a kernel must end in time, because the
// driver kills kernels that run for seconds: a region there has no loop of unknown length inside,
// and one that is a loop of unknown length, or a long one, is launched for some steps at a time.
bool IsSmallRegion(const xla::HloInstruction& instruction, const Target& target);

// Work-items of the one work-group that runs a region: one, if the arrays are so small that
// barriers would take longer than the elements do one after the other.
int64_t RegionWorkItems(const xla::HloInstruction& instruction, const Target& target);

// How many steps of the loop one launch may take; nullopt if it may take all of them. `instruction`
// is a small region.
std::optional<int64_t> MaxStepsPerLaunch(const xla::HloInstruction& instruction,
                                         const Target& target);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_ANALYSIS_SMALL_REGION_H_
