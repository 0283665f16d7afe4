#include <algorithm>
#include <utility>

#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/c_api/buffer/layout.h"
#include "pjrt_core/c_api/device/memory.h"
#include "pjrt_core/c_api/executable/executable.h"

namespace onexpu::c_api {
namespace {

std::string LayoutOf(const program::Shape& shape) {
  const size_t rank = shape.dimensions()->size();
  std::vector<int64_t> order(shape.minor_to_major()->begin(), shape.minor_to_major()->end());
  if (order.empty()) {
    for (size_t i = rank; i > 0; --i) order.push_back(static_cast<int64_t>(i - 1));
  }
  return LayoutText(order);
}

}  // namespace

std::shared_ptr<const ExecutableMetadata> ExecutableMetadata::Of(program::Container container) {
  std::shared_ptr<ExecutableMetadata> metadata(new ExecutableMetadata);
  metadata->owned_ = std::move(container);
  metadata->container_ = &*metadata->owned_;
  metadata->Fill();
  return metadata;
}

std::shared_ptr<const ExecutableMetadata> ExecutableMetadata::Of(
    std::shared_ptr<LoadedProgram> program) {
  std::shared_ptr<ExecutableMetadata> metadata(new ExecutableMetadata);
  metadata->container_ = &program->program();
  metadata->loaded_ = std::move(program);
  metadata->Fill();
  return metadata;
}

void ExecutableMetadata::Fill() {
  const auto& results = *program().results();
  const size_t num_outputs = results.size() - (program().has_size_result() ? 1 : 0);
  for (size_t i = 0; i < num_outputs; ++i) {
    const program::Result* result = results.Get(i);
    const program::Shape& shape = *result->shape();
    output_types.push_back(ToBufferType(shape.element_type()));
    output_dimensions.insert(output_dimensions.end(), shape.dimensions()->begin(),
                             shape.dimensions()->end());
    output_ranks.push_back(shape.dimensions()->size());
    const absl::string_view kind = MemoryKindName(static_cast<MemoryKind>(result->memory_kind()));
    output_memory_kinds.push_back(kind.data());
    output_memory_kind_sizes.push_back(kind.size());
    output_layout_handles.push_back(
        &output_layouts_.emplace_back(PJRT_Layouts_MemoryLayout{LayoutOf(shape)}));
  }
  if (const program::Cost* estimate = program().cost(); estimate != nullptr) {
    cost.Add("flops", static_cast<float>(estimate->flops()));
    cost.Add("bytes accessed", static_cast<float>(estimate->bytes_accessed()));
    cost.Add("transcendentals", static_cast<float>(estimate->transcendentals()));
    cost.Add("optimal_seconds", static_cast<float>(estimate->optimal_seconds()));
  }
  FillMemoryStatistics();
}

void ExecutableMetadata::FillMemoryStatistics() {
  PJRT_Executable_GetCompiledMemoryStats_Args& stats = memory_statistics;
  stats.generated_code_size_in_bytes = static_cast<int64_t>(program().generated_code_bytes());
  for (const program::Parameter* parameter : *program().parameters()) {
    (parameter->memory_kind() == program::MemoryKind::Device ? stats.argument_size_in_bytes
                                                             : stats.host_argument_size_in_bytes) +=
        parameter->slice()->size();
  }
  for (const program::Result* result : *program().results()) {
    const bool device = result->memory_kind() == program::MemoryKind::Device;
    const int64_t size = static_cast<int64_t>(result->slice()->size());
    (device ? stats.output_size_in_bytes : stats.host_output_size_in_bytes) += size;
    if (result->alias_kind() != program::AliasKind::None) {
      (device ? stats.alias_size_in_bytes : stats.host_alias_size_in_bytes) += size;
    }
  }
  for (const program::Allocation* allocation : *program().allocations()) {
    if (allocation->kind() == program::AllocationKind::Temporary) {
      stats.temp_size_in_bytes += static_cast<int64_t>(allocation->size());
    }
  }
  stats.peak_memory_in_bytes = stats.argument_size_in_bytes + stats.output_size_in_bytes +
                               stats.temp_size_in_bytes - stats.alias_size_in_bytes;
  stats.total_size_in_bytes = stats.peak_memory_in_bytes + stats.generated_code_size_in_bytes;
}

}  // namespace onexpu::c_api
