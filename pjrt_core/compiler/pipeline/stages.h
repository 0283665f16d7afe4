// The stages of the pass pipeline, one file each, in the order in which pipeline.cc runs them.
// Each adds its passes; what a stage relies on and leaves behind is said in its file. Stateless.
#ifndef PJRT_CORE_COMPILER_PIPELINE_STAGES_H_
#define PJRT_CORE_COMPILER_PIPELINE_STAGES_H_

#include "pjrt_core/compiler/target/target.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_pipeline.h"

namespace onexpu::compiler {

struct StageContext {
  const Target& target;
  const xla::AliasInfo& alias_info;
};

void AddPartitioningPasses(const xla::HloModule& module, xla::HloPassPipeline& pipeline);
void AddDynamicShapePasses(xla::HloPassPipeline& pipeline);
void AddExpansionPasses(const StageContext& context, xla::HloPassPipeline& pipeline);
void AddSimplificationPasses(const StageContext& context, xla::HloPassPipeline& pipeline);
void AddLibraryPasses(const StageContext& context, xla::HloPassPipeline& pipeline);
void AddLayoutPasses(const StageContext& context, xla::HloModule& module,
                     xla::HloPassPipeline& pipeline);
void AddFusionPasses(const StageContext& context, xla::HloPassPipeline& pipeline);
void AddBufferPasses(const StageContext& context, xla::HloPassPipeline& pipeline);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PIPELINE_STAGES_H_
