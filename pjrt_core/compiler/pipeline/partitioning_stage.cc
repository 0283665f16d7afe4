// Writes a module for many devices as the part that each of them runs (GSPMD, Xu et al., GSPMD:
// General and scalable parallelization for ML computation graphs, 2021): annotated shardings are
// propagated, by Shardy where the frontend uses it, and every instruction becomes one on shards,
// with collectives between them. A module of one partition only loses its annotations of placement.

#include "pjrt_core/compiler/passes/partitioning/host_callback_partitioner.h"
#include "pjrt_core/compiler/passes/partitioning/placement_annotations.h"
#include "pjrt_core/compiler/pipeline/stages.h"
#include "xla/hlo/transforms/simplifiers/conditional_canonicalizer.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/hlo/transforms/simplifiers/zero_sized_hlo_elimination.h"
#include "xla/service/call_inliner.h"
#include "xla/service/sharding_propagation.h"
#include "xla/service/spmd/shardy/shardy_xla_pass.h"
#include "xla/service/spmd/stateful_rng_spmd_partitioner.h"

namespace onexpu::compiler {

void AddPartitioningPasses(const xla::HloModule& module, xla::HloPassPipeline& pipeline) {
  // They are marked as having side effects, which the partitioner does not support.
  pipeline.AddPass<PlacementAnnotations>();
  const xla::HloModuleConfig& config = module.config();
  if (config.num_partitions() == 1) return;
  pipeline.AddPass<xla::CallInliner>();
  pipeline.AddPass<xla::ZeroSizedHloElimination>();
  pipeline.AddPass<xla::ConditionalCanonicalizer>();
  if (config.use_shardy_partitioner()) {
    pipeline.AddPass<xla::sdy::ShardyXLA>();
  } else {
    pipeline.AddPass<xla::ShardingPropagation>(
        /*is_spmd=*/true, /*propagate_metadata=*/false,
        config.allow_spmd_sharding_propagation_to_output(),
        config.allow_spmd_sharding_propagation_to_parameters());
  }
  pipeline.AddPass<HostCallbackPartitioner>();
  pipeline.AddPass<xla::spmd::StatefulRngSpmdPartitioner>(config.num_partitions(),
                                                          config.replica_count());
  pipeline.AddPass<xla::HloDCE>();
}

}  // namespace onexpu::compiler
