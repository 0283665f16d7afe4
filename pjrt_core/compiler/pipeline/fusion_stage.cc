// Merges instructions into kernels. Afterwards every instruction that computes is a fusion, a
// library call, control flow, or one of the operations that code generation takes bare.

#include "pjrt_core/compiler/passes/fusion/fusion_parameter_order.h"
#include "pjrt_core/compiler/passes/fusion/fusion_wrapper.h"
#include "pjrt_core/compiler/passes/fusion/producer_fusion.h"
#include "pjrt_core/compiler/passes/fusion/result_fusion.h"
#include "pjrt_core/compiler/passes/fusion/row_fusion.h"
#include "pjrt_core/compiler/passes/fusion/sibling_fusion.h"
#include "pjrt_core/compiler/passes/fusion/top_k_fusion.h"
#include "pjrt_core/compiler/passes/fusion/transform_fusion.h"
#include "pjrt_core/compiler/passes/numerics/commutative_operand_order.h"
#include "pjrt_core/compiler/passes/numerics/shared_value_rounding.h"
#include "pjrt_core/compiler/passes/numerics/sum_splitter.h"
#include "pjrt_core/compiler/pipeline/stages.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/service/hlo_cse.h"

namespace onexpu::compiler {

void AddFusionPasses(const StageContext& context, xla::HloPassPipeline& pipeline) {
  pipeline.AddPass<TopKFusion>(context.target);
  pipeline.AddPass<xla::HloDCE>();
  pipeline.AddPass<SumSplitter>();
  pipeline.AddPass<SharedValueRounding>();
  pipeline.AddPass<ProducerFusion>(&context.alias_info);
  pipeline.AddPass<xla::HloDCE>();
  pipeline.AddPass<SiblingFusion>(&context.alias_info);
  pipeline.AddPass<xla::HloCSE>(/*is_layout_sensitive=*/true);
  pipeline.AddPass<xla::HloDCE>();
  pipeline.AddPass<FusionWrapper>();
  pipeline.AddPass<RowFusion>(context.target);
  pipeline.AddPass<TransformFusion>();
  pipeline.AddPass<ResultFusion>(context.target);
  pipeline.AddPass<CommutativeOperandOrder>();
  pipeline.AddPass<FusionParameterOrder>();
}

}  // namespace onexpu::compiler
