// An all-reduce as exchanges and combinations.
#ifndef PJRT_CORE_COMPILER_PASSES_COLLECTIVES_ALL_REDUCE_H_
#define PJRT_CORE_COMPILER_PASSES_COLLECTIVES_ALL_REDUCE_H_

#include "pjrt_core/compiler/passes/collectives/collective_call.h"
#include "pjrt_core/compiler/passes/collectives/collective_writer.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace onexpu::compiler {

bool AreOfOneSize(const ParticipantGroups& groups);

// What stands for an all-reduce of `array`. Every participant is in one group.
xla::HloInstruction* AllReduce(CollectiveWriter& writer, xla::HloInstruction* array,
                               xla::HloComputation* combiner, const ParticipantGroups& groups);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_COLLECTIVES_ALL_REDUCE_H_
