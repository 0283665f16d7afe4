// From a module as it arrived to a scheduled module whose instructions all have a thunk, and its
// buffers. Thread-compatible: one call works on one module.
#ifndef PJRT_CORE_COMPILER_PIPELINE_PIPELINE_H_
#define PJRT_CORE_COMPILER_PIPELINE_PIPELINE_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/compiler/target/target.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/service/buffer_assignment.h"

namespace onexpu::compiler {

// Runs every stage. Afterwards the module is scheduled.
absl::Status RunPipeline(const Target& target, const xla::AliasInfo& alias_info,
                         xla::HloModule& module);

// `alias_info` must be the one that the pipeline had, and outlive the result. Temporaries form
// several allocations if together they exceed the target's largest single allocation.
absl::StatusOr<std::unique_ptr<xla::BufferAssignment>> AssignBuffers(
    const Target& target, const xla::AliasInfo& alias_info, xla::HloModule& module);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PIPELINE_PIPELINE_H_
