// Replaces bounded dynamic dimensions by static ones. Afterwards every shape is its upper bound,
// sizes are scalars, and elements beyond a size are masked wherever an instruction would mix them
// with others. No later pass sees a dynamic dimension.
//
// XLA's DynamicPadder does the work. It relies on shapes to tell which dimensions are dynamic, so
// a pass before it must not write a static shape for the result of a dynamic operand: the padder
// then takes the padding for data. Only passes that keep dynamic dimensions run here, those that
// expand instructions the padder has no rule for. XLA:CPU runs the same ones before its padder,
// plus some that do lose dimensions (DotDecomposer, ReduceWindowRewriter); all others belong into
// the expansion stage:
//
// | pass | dynamic dimensions |
// |---|---|
// | ShardingRemover | replaces custom calls by their operands |
// | FlattenCallGraph, CallInliner | copy instructions with their shapes |
// | ZeroSizedHloElimination | skips dynamic shapes |
// | MapInliner | clones instructions with the shape of the map |
// | ConditionalCanonicalizer | gives branches tuples, which the padder requires |
// | RngExpander | results of static shapes only |
// | BatchNormExpander | reads sizes with get-dimension-size |
// | TopkDecomposer | sorts operands with their own shapes |
// | DynamicOperandRewriter | ours: corrects the padder's rules, and adds some |
// | BatchedGatherScatterNormalizer | loses them for indices of scalars, which ours rewrites |
// | DynamicIndexSplitter | concerns scalars |
// | DynamicDimensionSimplifier | simplifies arithmetic on sizes for the padder |

#include "pjrt_core/compiler/passes/dynamic_shapes/dynamic_operand_rewriter.h"
#include "pjrt_core/compiler/pipeline/stages.h"
#include "xla/hlo/transforms/expanders/dynamic_index_splitter.h"
#include "xla/hlo/transforms/expanders/rng_expander.h"
#include "xla/hlo/transforms/simplifiers/conditional_canonicalizer.h"
#include "xla/hlo/transforms/simplifiers/dynamic_dimension_simplifier.h"
#include "xla/hlo/transforms/simplifiers/flatten_call_graph.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/hlo/transforms/simplifiers/zero_sized_hlo_elimination.h"
#include "xla/service/batched_gather_scatter_normalizer.h"
#include "xla/service/batchnorm_expander.h"
#include "xla/service/call_inliner.h"
#include "xla/service/dynamic_padder.h"
#include "xla/service/map_inliner.h"
#include "xla/service/sharding_remover.h"
#include "xla/service/topk_rewriter.h"

namespace onexpu::compiler {

void AddDynamicShapePasses(xla::HloPassPipeline& pipeline) {
  pipeline.AddPass<xla::ShardingRemover>();
  pipeline.AddPass<xla::FlattenCallGraph>();
  pipeline.AddPass<xla::CallInliner>();
  pipeline.AddPass<xla::ZeroSizedHloElimination>();
  pipeline.AddPass<xla::MapInliner>();
  pipeline.AddPass<xla::ConditionalCanonicalizer>();
  pipeline.AddPass<xla::RngExpander>();
  pipeline.AddPass<xla::BatchNormExpander>(/*rewrite_training_op=*/true,
                                           /*rewrite_inference_op=*/true,
                                           /*rewrite_grad_op=*/true);
  pipeline.AddPass<xla::TopkDecomposer>();
  pipeline.AddPass<DynamicOperandRewriter>();
  pipeline.AddPass<xla::BatchedGatherScatterNormalizer>();
  pipeline.AddPass<xla::DynamicIndexSplitter>();
  // The expanders write calls.
  pipeline.AddPass<xla::CallInliner>();
  pipeline.AddPass<xla::DynamicDimensionSimplifier>();
  pipeline.AddPass<xla::DynamicPadder>();
}

}  // namespace onexpu::compiler
