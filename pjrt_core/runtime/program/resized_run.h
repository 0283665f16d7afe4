// One run of a resizable Program: the sizes that its arguments give it. A plain value.
#ifndef PJRT_CORE_RUNTIME_PROGRAM_RESIZED_RUN_H_
#define PJRT_CORE_RUNTIME_PROGRAM_RESIZED_RUN_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "pjrt_core/runtime/buffer/buffer.h"
#include "pjrt_core/runtime/program/program_plan.h"
#include "pjrt_core/thunks/thunk.h"

namespace onexpu {

struct ResizedRun {
  // From arguments whose element types and number are right. INVALID_ARGUMENT names an argument
  // that does not fit the others, `program` and the plan's roles.
  static absl::StatusOr<ResizedRun> Of(const ProgramPlan& plan, absl::string_view program,
                                       absl::Span<const std::shared_ptr<Buffer>> arguments);

  int64_t num_elements() const { return static_cast<int64_t>(extents.rows * extents.columns); }

  Extents extents;
  Dimensions dimensions;  // of all results
};

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_PROGRAM_RESIZED_RUN_H_
