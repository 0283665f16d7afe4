// The running results of a reduction or a reduce-window, for serial loops and for schedules alike.
// Sums of many floats run in more digits than their type has (wide_sum.h). Sums and products of
// narrow floats run in f32 at least. Both are rounded once, when everything is combined. Free
// functions and objects on a FusionContext; thread-compatible.
#ifndef PJRT_CORE_COMPILER_CODEGEN_ELEMENTAL_ACCUMULATORS_H_
#define PJRT_CORE_COMPILER_CODEGEN_ELEMENTAL_ACCUMULATORS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/compiler/codegen/elemental/fusion_context.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace onexpu::compiler {

// One value per array that is reduced.
using ReductionValues = std::vector<llvm::Value*>;

// The arrays' elements at `index`, and the reduction's initial values.
absl::StatusOr<ReductionValues> ReducedElements(FusionContext& context,
                                                const xla::HloInstruction& reduction,
                                                const Index& index);
absl::StatusOr<ReductionValues> InitialValues(FusionContext& context,
                                              const xla::HloInstruction& reduction);

// One step: running results and elements, or other running results, into new ones. Combining only
// elements gives results in their type, as cheap as the reducer.
absl::StatusOr<ReductionValues> EmitAccumulate(FusionContext& context,
                                               const xla::HloInstruction& reduction,
                                               const ReductionValues& running,
                                               const ReductionValues& values);
// Elements that leave what they are combined with as it is, if all arrays are sums of floats: -0.
std::optional<ReductionValues> IdentityOfSums(FusionContext& context,
                                              const xla::HloInstruction& reduction);
// Elements as running results. `parts` is how many results the elements of one are divided among
// before these are combined, here and below: each has fewer additions.
ReductionValues WidenAccumulators(FusionContext& context, const xla::HloInstruction& reduction,
                                  ReductionValues values, int64_t parts);
// Running results as the reduction's results.
ReductionValues NormalizeAccumulators(FusionContext& context, const xla::HloInstruction& reduction,
                                      ReductionValues running);
// The element type in which a schedule keeps the running result number `value` in memory.
xla::PrimitiveType AccumulatorType(const xla::HloInstruction& reduction, int64_t value,
                                   int64_t parts, const Target& target);
// Whether the reduction adds up floats, alone or with anything else.
bool AddsFloats(const xla::HloInstruction& reduction);

// Running results in registers, across the trips of a loop.
class Accumulators {
 public:
  Accumulators(FusionContext& context, const xla::HloInstruction& reduction,
               const ReductionValues& initial, int64_t parts);

  absl::Status Add(const ReductionValues& values);
  void Set(const ReductionValues& values);
  ReductionValues Running() const;

 private:
  FusionContext& context_;
  const xla::HloInstruction& reduction_;
  std::vector<llvm::AllocaInst*> slots_;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_ELEMENTAL_ACCUMULATORS_H_
