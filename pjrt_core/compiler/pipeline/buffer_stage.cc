// Copies where two values would share memory and must not, then the order of execution and the
// buffers.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "pjrt_core/compiler/passes/onednn/early_library_call.h"
#include "pjrt_core/compiler/pipeline/pipeline.h"
#include "pjrt_core/compiler/pipeline/stages.h"
#include "pjrt_core/program/container_format.h"
#include "xla/hlo/analysis/hlo_ordering.h"
#include "xla/hlo/transforms/simplifiers/flatten_call_graph.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/hlo/transforms/simplifiers/hlo_memory_scheduler.h"
#include "xla/hlo/transforms/simplifiers/optimize_input_output_buffer_alias.h"
#include "xla/hlo/transforms/simplifiers/sub_byte_normalization.h"
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

constexpr int64_t kMaxHeapBytes = std::numeric_limits<int32_t>::max();

absl::StatusOr<std::unique_ptr<xla::BufferAssignment>> Assign(const xla::AliasInfo& alias_info,
                                                              const xla::HloModule& module) {
  xla::BufferAssigner::Options options;
  options.allocate_buffers_for_constants = true;
  return xla::BufferAssigner::Run(
      &module, std::make_unique<xla::SequentialHloOrdering>(module.schedule()), BufferBytes,
      &alias_info,
      [](xla::LogicalBuffer::Color) { return static_cast<int64_t>(program::kBlobAlignment); },
      std::move(options));
}

bool HasTooLargeTemporaries(const xla::BufferAssignment& assignment, const Target& target) {
  if (target.max_allocation_bytes == 0) return false;
  for (const xla::BufferAllocation& allocation : assignment.Allocations()) {
    if (allocation.IsPreallocatedTempBuffer() &&
        static_cast<uint64_t>(allocation.size()) > target.max_allocation_bytes) {
      return true;
    }
  }
  return false;
}

}  // namespace

void AddBufferPasses(const StageContext& context, xla::HloPassPipeline& pipeline) {
  // Passes of XLA pack narrow types in the shapes that they create.
  pipeline.AddPass<xla::SubByteNormalization>(xla::SubByteNormalization::REMOVE_ELEMENT_SIZE);
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
    const Target& target, const xla::AliasInfo& alias_info, xla::HloModule& module) {
  absl::StatusOr<std::unique_ptr<xla::BufferAssignment>> assignment = Assign(alias_info, module);
  if (!assignment.ok() || !HasTooLargeTemporaries(**assignment, target)) return assignment;
  // XLA's limit on the size of a heap is an int32. A larger array gets its own allocation.
  const int64_t limit = std::min<int64_t>(target.max_allocation_bytes, kMaxHeapBytes);
  xla::DebugOptions& options = module.mutable_config().mutable_debug_options();
  const int32_t before = options.xla_multiheap_size_constraint_per_heap();
  options.set_xla_multiheap_size_constraint_per_heap(
      static_cast<int32_t>(limit / program::kBlobAlignment * program::kBlobAlignment));
  assignment = Assign(alias_info, module);
  options.set_xla_multiheap_size_constraint_per_heap(before);
  return assignment;
}

}  // namespace onexpu::compiler
