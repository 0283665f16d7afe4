#include "pjrt_core/compiler/pipeline/pipeline.h"

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/pipeline/stages.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_pipeline.h"
#include "xla/service/hlo_verifier.h"

namespace onexpu::compiler {
namespace {

absl::Status Prefixed(const absl::Status& status, absl::string_view pipeline) {
  if (status.ok() || absl::StartsWith(status.message(), "onexpu:")) return status;
  return absl::Status(status.code(), absl::StrCat("onexpu: ", pipeline, ": ", status.message()));
}

template <typename AddPasses>
absl::Status RunStage(absl::string_view name, xla::HloModule& module, AddPasses add_passes) {
  xla::HloPassPipeline pipeline{std::string(name)};
  add_passes(pipeline);
  return Prefixed(pipeline.Run(&module).status(), name);
}

// Whatever the frontends let through is checked before passes take it for granted. What our passes
// may mix later, a type of float with another, passes of XLA end the process over.
absl::Status VerifyInput(xla::HloModule& module) {
  xla::HloVerifier verifier(/*layout_sensitive=*/false, /*allow_mixed_precision=*/false);
  const absl::Status status = verifier.Run(&module).status();
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat("onexpu: invalid module: ", status.message()));
}

bool HasDynamicShapes(const xla::HloModule& module) {
  for (const xla::HloComputation* computation : module.computations()) {
    for (const xla::HloInstruction* instruction : computation->instructions()) {
      if (instruction->shape().is_dynamic()) return true;
    }
  }
  return false;
}

// The padder reports what it has no rule for with several codes.
absl::Status RemoveDynamicShapes(xla::HloModule& module) {
  const bool has_dynamic_shapes = HasDynamicShapes(module);
  const absl::Status status =
      RunStage("dynamic shapes", module, [](auto& pipeline) { AddDynamicShapePasses(pipeline); });
  if (status.ok() || !has_dynamic_shapes) return status;
  return absl::UnimplementedError(
      absl::StrCat(status.message(),
                   ". Sizes that are known only at run time are not supported here. Compute this "
                   "part outside of the compiled function, or pad to a known size"));
}

}  // namespace

absl::Status RunPipeline(const Target& target, const xla::AliasInfo& alias_info,
                         xla::HloModule& module) {
  const StageContext context{target, alias_info};
  using Pipeline = xla::HloPassPipeline;
  ONEXPU_RETURN_IF_ERROR(VerifyInput(module));
  ONEXPU_RETURN_IF_ERROR(RunStage("partitioning", module, [&](Pipeline& pipeline) {
    AddPartitioningPasses(module, pipeline);
  }));
  ONEXPU_RETURN_IF_ERROR(RemoveDynamicShapes(module));
  ONEXPU_RETURN_IF_ERROR(RunStage(
      "expansion", module, [&](Pipeline& pipeline) { AddExpansionPasses(context, pipeline); }));
  ONEXPU_RETURN_IF_ERROR(RunStage("simplification", module, [&](Pipeline& pipeline) {
    AddSimplificationPasses(context, pipeline);
  }));
  ONEXPU_RETURN_IF_ERROR(RunStage(
      "libraries", module, [&](Pipeline& pipeline) { AddLibraryPasses(context, pipeline); }));
  ONEXPU_RETURN_IF_ERROR(RunStage(
      "layout", module, [&](Pipeline& pipeline) { AddLayoutPasses(context, module, pipeline); }));
  ONEXPU_RETURN_IF_ERROR(
      RunStage("fusion", module, [&](Pipeline& pipeline) { AddFusionPasses(context, pipeline); }));
  return RunStage("buffers", module,
                  [&](Pipeline& pipeline) { AddBufferPasses(context, pipeline); });
}

}  // namespace onexpu::compiler
