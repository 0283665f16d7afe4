// How a scatter that runs through the indices in order is shared among work-groups.
#ifndef PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_SCATTER_PLAN_H_
#define PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_SCATTER_PLAN_H_

#include <cstdint>

#include "pjrt_core/compiler/codegen/schedules/scatter_kernel.h"
#include "pjrt_core/compiler/target/target.h"
#include "xla/hlo/ir/hlo_instructions.h"

namespace onexpu::compiler {

// A work-group has a part of the elements of each window that are apart, and of the updates either
// all, or a piece, or those that go to its share of the result.
struct ScatterPlan {
  int64_t meeting = 1;  // updates that may meet
  int64_t apart = 1;    // elements of each that may not

  // Elements that are apart are cut into blocks, the last one of which may be shorter. `lanes`
  // work-items take one element of a block each; a single one takes them all at once.
  int64_t block = 1;
  int64_t lanes = 1;
  int64_t groups = 1;  // share the blocks

  // Of the updates, one after the other. Every piece but the first is added up in an array of its
  // own, to be combined with the result afterwards.
  int64_t pieces = 1;

  // On a GPU, a launch takes that many updates, and further ones go on.
  int64_t updates_per_launch = 0;  // 0: all of them

  // The result is dealt out: `run` positions of the dimension that `component` of the index stands
  // for are one hand's, the next ones the next one's.
  int64_t hands = 1;
  int64_t run = 1;
  int64_t component = 0;
};

ScatterPlan ChooseScatterPlan(const xla::HloScatterInstruction& scatter,
                              const ScatterDimensions& dimensions, const Target& target);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_SCATTER_PLAN_H_
