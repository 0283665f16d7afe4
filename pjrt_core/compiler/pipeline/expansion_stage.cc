// Hands to oneMKL what it does better, and takes apart what no later stage knows. Afterwards there
// are no calls, transforms and factorisations except as library calls, and no random number
// instructions; dots have one contracting dimension; gather, scatter, sort and reduce-window stay
// whole, because code generation has schedules for them. All shapes are static.

#include "pjrt_core/compiler/passes/collectives/collective_expander.h"
#include "pjrt_core/compiler/passes/control_flow/single_scatter_expander.h"
#include "pjrt_core/compiler/passes/fourier/fft_expander.h"
#include "pjrt_core/compiler/passes/linear_algebra/linear_algebra_rewriter.h"
#include "pjrt_core/compiler/passes/numerics/batch_sum.h"
#include "pjrt_core/compiler/passes/numerics/complex_branches.h"
#include "pjrt_core/compiler/pipeline/algebraic_simplifier.h"
#include "pjrt_core/compiler/pipeline/stages.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/transforms/expanders/bitcast_dtypes_expander.h"
#include "xla/hlo/transforms/expanders/cholesky_expander.h"
#include "xla/hlo/transforms/expanders/comparison_expander.h"
#include "xla/hlo/transforms/expanders/dot_decomposer.h"
#include "xla/hlo/transforms/expanders/eigh_expander.h"
#include "xla/hlo/transforms/expanders/optimization_barrier_expander.h"
#include "xla/hlo/transforms/expanders/qr_expander.h"
#include "xla/hlo/transforms/expanders/rng_bit_generator_expander.h"
#include "xla/hlo/transforms/expanders/stochastic_convert_decomposer.h"
#include "xla/hlo/transforms/simplifiers/batch_dot_simplification.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/hlo/transforms/simplifiers/result_caster.h"
#include "xla/hlo/transforms/simplifiers/sub_byte_normalization.h"
#include "xla/hlo/transforms/simplifiers/zero_sized_hlo_elimination.h"
#include "xla/primitive_util.h"
#include "xla/service/call_inliner.h"
#include "xla/service/map_inliner.h"
#include "xla/service/scatter_simplifier.h"
#include "xla/service/triangular_solve_expander.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {
namespace {

bool HasIntegerResult(const xla::HloInstruction* instruction) {
  return instruction->shape().IsArray() &&
         xla::primitive_util::IsIntegralType(instruction->shape().element_type());
}

}  // namespace

void AddExpansionPasses(const StageContext& context, xla::HloPassPipeline& pipeline) {
  // Types narrower than a byte take a byte each, in memory and everywhere.
  pipeline.AddPass<xla::SubByteNormalization>(xla::SubByteNormalization::REMOVE_ELEMENT_SIZE);
  pipeline.AddPass<CollectiveExpander>();
  pipeline.AddPass<xla::CallInliner>();
  pipeline.AddPass<xla::ZeroSizedHloElimination>();
  pipeline.AddPass<ComplexBranches>();

  pipeline.AddPass<LinearAlgebraRewriter>(context.target);
  pipeline.AddPass<xla::CholeskyExpander>();
  pipeline.AddPass<xla::QrExpander>();
  pipeline.AddPass<xla::EighExpander>();
  pipeline.AddPass<xla::TriangularSolveExpander>();
  pipeline.AddPass<FftExpander>(context.target);
  pipeline.AddPass<xla::RngBitGeneratorExpander>(xla::RandomAlgorithm::RNG_PHILOX);
  pipeline.AddPass<xla::BitcastDtypesExpander>();
  pipeline.AddPass<xla::ComparisonExpander>();
  pipeline.AddPass<xla::StochasticConvertDecomposer>();
  pipeline.AddPass<xla::ScatterSimplifier>();
  pipeline.AddPass<SingleScatterExpander>();
  // The expanders write calls and maps.
  pipeline.AddPass<xla::MapInliner>();
  pipeline.AddPass<xla::CallInliner>();

  pipeline.AddPass<xla::BatchDotSimplification>();
  // Floats that are multiplied into integers add up as floats.
  pipeline.AddPass<xla::ResultCaster>(HasIntegerResult);
  pipeline.AddPass<AlgebraicSimplifier>(/*layout_sensitive=*/false);
  pipeline.AddPass<xla::HloDCE>();
  pipeline.AddPass<BatchSum>();
  pipeline.AddPass<xla::DotDecomposer>();
  pipeline.AddPass<xla::OptimizationBarrierExpander>();
  pipeline.AddPass<xla::HloDCE>();
}

}  // namespace onexpu::compiler
