// Hands to oneDNN what it does better than a kernel of our own: custom calls that emit/ turns into
// thunks.

#include "pjrt_core/compiler/passes/fusion/attention_fusion.h"
#include "pjrt_core/compiler/passes/onednn/complex_dot_splitter.h"
#include "pjrt_core/compiler/passes/onednn/convolution_rewriter.h"
#include "pjrt_core/compiler/passes/onednn/epilogue_fusion.h"
#include "pjrt_core/compiler/passes/onednn/inner_product_rewriter.h"
#include "pjrt_core/compiler/passes/onednn/matmul_rewriter.h"
#include "pjrt_core/compiler/pipeline/stages.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/service/while_loop_invariant_code_motion.h"

namespace onexpu::compiler {

void AddLibraryPasses(const StageContext& context, xla::HloPassPipeline& pipeline) {
  pipeline.AddPass<InnerProductRewriter>();
  pipeline.AddPass<ComplexDotSplitter>();
  pipeline.AddPass<AttentionFusion>(context.target);
  pipeline.AddPass<MatmulRewriter>(context.target);
  pipeline.AddPass<ConvolutionRewriter>(context.target);
  pipeline.AddPass<xla::HloDCE>();
  pipeline.AddPass<EpilogueFusion>(context.target, /*layout_sensitive=*/false);
  // Conversions of what a loop never changes.
  pipeline.AddPass<xla::WhileLoopInvariantCodeMotion>();
  pipeline.AddPass<xla::HloDCE>();
}

}  // namespace onexpu::compiler
