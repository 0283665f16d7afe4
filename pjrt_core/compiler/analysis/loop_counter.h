// The counter of a loop, and how often the loop runs because of it.
//
// XLA's analysis (while_loop_analysis.h) computes trip counts as if no counter left the range of
// its type, and its MatchTrivialLoopRange reads `i >= n` as `i <= n`. TripCount does neither.
#ifndef PJRT_CORE_COMPILER_ANALYSIS_LOOP_COUNTER_H_
#define PJRT_CORE_COMPILER_ANALYSIS_LOOP_COUNTER_H_

#include <cstdint>
#include <optional>

#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {

// A loop that starts with counter = init and runs counter += step while `counter direction bound`
// holds. The direction is one of <, <=, > and >=.
struct LoopCounter {
  xla::PrimitiveType type;
  xla::ComparisonDirection direction;
  int64_t init;
  int64_t step;
  int64_t bound;
};

// The counter at `tuple_index` of the loop's state. nullopt if it has another form, or if init,
// step or bound are not constants that fit into 64 signed bits.
std::optional<LoopCounter> FindLoopCounter(const xla::HloInstruction& loop, int64_t tuple_index);

// nullopt if the counter leaves the range of its type before the loop ends.
std::optional<int64_t> TripCount(const LoopCounter& counter);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_ANALYSIS_LOOP_COUNTER_H_
