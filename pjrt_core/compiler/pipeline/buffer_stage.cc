// Copies where two values would share memory and must not, then the order of execution and the
// buffers.

#include <cstdint>
#include <memory>
#include <utility>

#include "pjrt_core/compiler/passes/early_library_call.h"
#include "pjrt_core/compiler/pipeline/pipeline.h"
#include "pjrt_core/compiler/pipeline/stages.h"
#include "pjrt_core/program/container.h"
#include "xla/hlo/analysis/hlo_ordering.h"
#include "xla/hlo/transforms/simplifiers/flatten_call_graph.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/hlo/transforms/simplifiers/hlo_memory_scheduler.h"
#include "xla/hlo/transforms/simplifiers/optimize_input_output_buffer_alias.h"
#include "xla/service/buffer_assignment.h"
#include "xla/service/copy_insertion.h"
#include "xla/service/hlo_verifier.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

// A tuple is no memory of ours: nothing ever reads a table of pointers.
int64_t ShapeBytes(const xla::Shape& shape) {
  return shape.IsArray() ? xla::ShapeUtil::ByteSizeOf(shape) : 0;
}

int64_t BufferBytes(const xla::BufferValue& buffer) { return ShapeBytes(buffer.shape()); }

}  // namespace

void AddBufferPasses(const StageContext& context, xla::HloPassPipeline& pipeline) {
  // CopyInsertion wants every computation called once.
  pipeline.AddPass<xla::FlattenCallGraph>();
  pipeline.AddPass<xla::OptimizeInputOutputBufferAlias>(/*registered_buffer_donor_only=*/true,
                                                        ShapeBytes);
  // Always with its region analysis: it orders the last reads of donated memory before the write,
  // by control dependencies, where a copy would else be needed for each.
  pipeline.AddPass<xla::CopyInsertion>(&context.alias_info,
                                       /*use_region_based_live_range_analysis=*/-1);
  pipeline.AddPass<xla::HloDCE>();
  pipeline.AddPass<xla::HloVerifier>(/*layout_sensitive=*/true, /*allow_mixed_precision=*/true);
  pipeline.AddPass<xla::HloMemoryScheduler>(&context.alias_info,
                                            xla::BufferValue::SizeFunction(BufferBytes));
  pipeline.AddPass<EarlyLibraryCall>();
}

absl::StatusOr<std::unique_ptr<xla::BufferAssignment>> AssignBuffers(
    const xla::AliasInfo& alias_info, const xla::HloModule& module) {
  xla::BufferAssigner::Options options;
  options.allocate_buffers_for_constants = true;
  return xla::BufferAssigner::Run(
      &module, std::make_unique<xla::SequentialHloOrdering>(module.schedule()), BufferBytes,
      &alias_info,
      [](xla::LogicalBuffer::Color) { return static_cast<int64_t>(program::kBlobAlignment); },
      std::move(options));
}

}  // namespace onexpu::compiler
