// Gives every array a layout, and makes of layout changes what is cheapest: nothing (a bitcast) or
// a copy.

#include "pjrt_core/compiler/passes/control_flow/trip_counts.h"
#include "pjrt_core/compiler/passes/layout/layout_assignment.h"
#include "pjrt_core/compiler/passes/layout/linear_algebra_layouts.h"
#include "pjrt_core/compiler/passes/layout/matmul_layouts.h"
#include "pjrt_core/compiler/passes/onednn/epilogue_fusion.h"
#include "pjrt_core/compiler/pipeline/algebraic_simplifier.h"
#include "pjrt_core/compiler/pipeline/stages.h"
#include "xla/hlo/pass/hlo_pass_fix.h"
#include "xla/hlo/transforms/expanders/reduce_decomposer.h"
#include "xla/hlo/transforms/expanders/reshape_decomposer.h"
#include "xla/hlo/transforms/simplifiers/conditional_canonicalizer.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/hlo/transforms/while_loop_trip_count_annotator.h"
#include "xla/service/hlo_cse.h"

namespace onexpu::compiler {

void AddLayoutPasses(const StageContext& context, xla::HloModule& module,
                     xla::HloPassPipeline& pipeline) {
  pipeline.AddPass<LayoutAssignment>(module.mutable_entry_computation_layout());
  pipeline.AddPass<MatmulLayouts>();
  pipeline.AddPass<LinearAlgebraLayouts>();
  // A reshape that moves data becomes a bitcast and a copy.
  pipeline.AddPass<xla::ReshapeDecomposer>();
  auto& fixed_point = pipeline.AddPass<xla::HloPassFix<xla::HloPassPipeline>>("simplify-layouts");
  fixed_point.AddPass<AlgebraicSimplifier>(/*layout_sensitive=*/true);
  fixed_point.AddPass<xla::HloDCE>();
  fixed_point.AddPass<xla::HloCSE>(/*is_layout_sensitive=*/true);
  pipeline.AddPass<EpilogueFusion>(context.target, /*layout_sensitive=*/true);
  pipeline.AddPass<xla::HloDCE>();
  pipeline.AddPass<xla::ReduceDecomposer>();
  pipeline.AddPass<xla::ConditionalCanonicalizer>();
  pipeline.AddPass<xla::WhileLoopTripCountAnnotator>();
  pipeline.AddPass<TripCountVerifier>();
}

}  // namespace onexpu::compiler
