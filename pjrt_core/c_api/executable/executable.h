// PJRT_Executable: what a Program says of itself, without being loaded.
//
// Owned by the caller until PJRT_Executable_Destroy. The metadata is shared and immutable; any
// thread.
#ifndef PJRT_CORE_C_API_EXECUTABLE_EXECUTABLE_H_
#define PJRT_CORE_C_API_EXECUTABLE_EXECUTABLE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "pjrt_core/c_api/buffer/memory_layout.h"
#include "pjrt_core/c_api/device/named_value.h"
#include "pjrt_core/program/container.h"
#include "pjrt_core/runtime/program/loaded_program.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace onexpu::c_api {

// Answers in the shapes that PJRT wants them in, made once per Program.
class ExecutableMetadata {
 public:
  // Of a Program that is not loaded.
  static std::shared_ptr<const ExecutableMetadata> Of(program::Container container);
  // Of a loaded one, which is kept alive.
  static std::shared_ptr<const ExecutableMetadata> Of(std::shared_ptr<LoadedProgram> program);

  const program::Container& container() const { return *container_; }
  const program::Program& program() const { return container_->program(); }

  // The devices that run the Program together.
  int num_participants() const { return program().num_replicas() * program().num_partitions(); }

  std::vector<PJRT_Buffer_Type> output_types;
  std::vector<int64_t> output_dimensions;  // of all outputs, one after the other
  std::vector<size_t> output_ranks;
  std::vector<const char*> output_memory_kinds;
  std::vector<size_t> output_memory_kind_sizes;
  std::vector<PJRT_Layouts_MemoryLayout*> output_layout_handles;
  NamedValues cost;
  PJRT_Executable_GetCompiledMemoryStats_Args memory_statistics{};  // the numbers only

 private:
  ExecutableMetadata() = default;
  void Fill();
  void FillMemoryStatistics();

  std::deque<PJRT_Layouts_MemoryLayout> output_layouts_;
  std::optional<program::Container> owned_;
  std::shared_ptr<LoadedProgram> loaded_;
  const program::Container* container_ = nullptr;
};

}  // namespace onexpu::c_api

struct PJRT_Executable {
  static void BindApi(PJRT_Api* api);

  std::shared_ptr<const onexpu::c_api::ExecutableMetadata> metadata;
};

#endif  // PJRT_CORE_C_API_EXECUTABLE_EXECUTABLE_H_
