// Makes the module smaller, layouts aside. No pass here evaluates tensors on the host: what a
// program computes, the device computes, also when all of it is constant.

#include <cstdint>

#include "pjrt_core/compiler/passes/control_flow/trip_counts.h"
#include "pjrt_core/compiler/passes/numerics/reducer_widening.h"
#include "pjrt_core/compiler/passes/numerics/scan_rewriter.h"
#include "pjrt_core/compiler/passes/numerics/scan_types.h"
#include "pjrt_core/compiler/passes/numerics/selection_splitter.h"
#include "pjrt_core/compiler/passes/numerics/window_splitter.h"
#include "pjrt_core/compiler/pipeline/algebraic_simplifier.h"
#include "pjrt_core/compiler/pipeline/stages.h"
#include "xla/hlo/pass/hlo_pass_fix.h"
#include "xla/hlo/transforms/expanders/optimization_barrier_expander.h"
#include "xla/hlo/transforms/simplifiers/broadcast_canonicalizer.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/hlo/transforms/simplifiers/reduce_window_resizer.h"
#include "xla/hlo/transforms/simplifiers/reshape_mover.h"
#include "xla/hlo/transforms/simplifiers/slice_sinker.h"
#include "xla/hlo/transforms/simplifiers/sort_simplifier.h"
#include "xla/hlo/transforms/simplifiers/tuple_simplifier.h"
#include "xla/service/conditional_simplifier.h"
#include "xla/service/conditional_to_select.h"
#include "xla/service/hlo_cse.h"
#include "xla/service/while_loop_constant_sinking.h"
#include "xla/service/while_loop_invariant_code_motion.h"
#include "xla/service/while_loop_simplifier.h"

namespace onexpu::compiler {

void AddSimplificationPasses(const StageContext& context, xla::HloPassPipeline& pipeline) {
  auto& fixed_point = pipeline.AddPass<xla::HloPassFix<xla::HloPassPipeline>>("simplify");
  fixed_point.AddPass<AlgebraicSimplifier>(/*layout_sensitive=*/false);
  fixed_point.AddPass<xla::BroadcastCanonicalizer>();
  fixed_point.AddPass<xla::SortSimplifier>();
  fixed_point.AddPass<xla::HloDCE>();
  fixed_point.AddPass<xla::WhileLoopConstantSinking>();
  fixed_point.AddPass<WrappingCounterGuard>();
  fixed_point.AddPass<xla::WhileLoopSimplifier>();
  fixed_point.AddPass<xla::WhileLoopInvariantCodeMotion>();
  fixed_point.AddPass<xla::SliceSinker>();
  fixed_point.AddPass<xla::HloDCE>();
  fixed_point.AddPass<xla::ReshapeMover>();
  fixed_point.AddPass<xla::ConditionalSimplifier>();
  fixed_point.AddPass<xla::ConditionalToSelect>();
  fixed_point.AddPass<xla::TupleSimplifier>();
  fixed_point.AddPass<xla::HloCSE>(/*is_layout_sensitive=*/false);
  fixed_point.AddPass<xla::ReduceWindowResizer>();
  // Those of WrappingCounterGuard.
  pipeline.AddPass<xla::OptimizationBarrierExpander>();
  constexpr int64_t kScanBlockLength = 32;
  pipeline.AddPass<ReducerWidening>(kScanBlockLength);
  pipeline.AddPass<ScanTypes>(kScanBlockLength);
  // Otherwise a running sum over n elements takes n * n steps.
  pipeline.AddPass<xla::HloPassFix<ScanRewriter>>(kScanBlockLength);
  pipeline.AddPass<xla::HloPassFix<WindowSplitter>>();
  pipeline.AddPass<SelectionSplitter>();
}

}  // namespace onexpu::compiler
