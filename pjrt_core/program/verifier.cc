#include "pjrt_core/program/verifier.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/program/container_format.h"
#include "pjrt_core/program/element_type.h"
#include "pjrt_core/program/literal_encoding.h"
#include "pjrt_core/program/program_generated.h"
#include "pjrt_core/program/verify_memory.h"
#include "pjrt_core/program/verify_resizable.h"
#include "pjrt_core/program/verify_thunks.h"

namespace onexpu::program {
namespace {

// Of all allocations together, so that the layout code can add sizes without overflow. No device
// has a fraction of it.
constexpr uint64_t kMaxMemoryBytes = uint64_t{1} << 60;
constexpr uint32_t kSpirvMagic = 0x07230203;
constexpr uint64_t kSpirvHeaderBytes = 20;
constexpr int64_t kMaxParticipants = int64_t{1} << 20;

absl::Status VerifyBlob(const Blob& blob, absl::Span<const uint8_t> blobs, const char* where) {
  if (blob.offset() > blobs.size() || blob.size() > blobs.size() - blob.offset()) {
    return VerifyError(where, "blob leaves the blob section");
  }
  if (blob.offset() % kBlobAlignment != 0) return VerifyError(where, "blob is not aligned");
  return absl::OkStatus();
}

absl::Status VerifyTarget(const TargetDescription& target) {
  if (target.device_kind() > DeviceKind::MAX || target.schedules() > ScheduleSet::MAX) {
    return VerifyError("target", "unknown kind of device");
  }
  return absl::OkStatus();
}

absl::Status VerifyAllocations(const Program& program, absl::Span<const uint8_t> blobs) {
  uint64_t memory = 0;
  for (const Allocation* allocation : *program.allocations()) {
    if (allocation->size() > kMaxMemoryBytes || memory > kMaxMemoryBytes) {
      return VerifyError("allocation", "the total size exceeds 2^60 bytes");
    }
    memory += allocation->size();
    if (allocation->kind() > AllocationKind::MAX) {
      return VerifyError("allocation", "unknown kind");
    }
    if (allocation->kind() == AllocationKind::Parameter &&
        allocation->parameter() >= program.parameters()->size()) {
      return VerifyError("allocation", "parameter does not exist");
    }
    if (allocation->kind() == AllocationKind::Constant && allocation->constant() == nullptr) {
      return VerifyError("allocation", "constant without bytes");
    }
    if (allocation->constant() != nullptr) {
      ONEXPU_RETURN_IF_ERROR(VerifyBlob(*allocation->constant(), blobs, "constant"));
      if (allocation->constant()->size() != allocation->size()) {
        return VerifyError("constant", "size differs from its allocation's");
      }
    }
  }
  return absl::OkStatus();
}

absl::Status VerifyParameters(const Program& program) {
  for (uint32_t i = 0; i < program.parameters()->size(); ++i) {
    const Parameter& parameter = *program.parameters()->Get(i);
    ONEXPU_RETURN_IF_ERROR(
        VerifyArray(program, *parameter.shape(), *parameter.slice(), "parameter"));
    const Allocation& allocation = *program.allocations()->Get(parameter.slice()->allocation());
    if (parameter.memory_kind() > MemoryKind::MAX) {
      return VerifyError("parameter", "unknown memory kind");
    }
    if (allocation.kind() != AllocationKind::Parameter || allocation.parameter() != i ||
        parameter.slice()->offset() != 0) {
      return VerifyError("parameter", "does not start an allocation of its own");
    }
    // The caller brings as many bytes as its shape has.
    ONEXPU_ASSIGN_OR_RETURN(const uint64_t bytes, VerifyShape(*parameter.shape(), "parameter"));
    if (allocation.size() > bytes) {
      return VerifyError("parameter", "is smaller than its allocation");
    }
  }
  // Nothing would ever give an address to another.
  for (uint32_t i = 0; i < program.allocations()->size(); ++i) {
    const Allocation& allocation = *program.allocations()->Get(i);
    if (allocation.kind() == AllocationKind::Parameter &&
        program.parameters()->Get(allocation.parameter())->slice()->allocation() != i) {
      return VerifyError("allocation", "its parameter has another");
    }
  }
  return absl::OkStatus();
}

absl::Status VerifyResults(const Program& program) {
  std::vector<bool> used(program.allocations()->size(), false);
  for (const Result* result : *program.results()) {
    ONEXPU_RETURN_IF_ERROR(VerifyArray(program, *result->shape(), *result->slice(), "result"));
    const uint32_t index = result->slice()->allocation();
    const Allocation& allocation = *program.allocations()->Get(index);
    if (result->memory_kind() > MemoryKind::MAX || result->alias_kind() > AliasKind::MAX) {
      return VerifyError("result", "unknown memory or alias kind");
    }
    if (result->slice()->offset() != 0 || used[index]) {
      return VerifyError("result", "does not start an allocation of its own");
    }
    used[index] = true;
    if (result->alias_kind() == AliasKind::None) {
      if (allocation.kind() != AllocationKind::Result) {
        return VerifyError("result", "is no fresh buffer and aliases no parameter");
      }
      continue;
    }
    if (result->alias_parameter() < 0 ||
        static_cast<uint32_t>(result->alias_parameter()) >= program.parameters()->size()) {
      return VerifyError("result", "aliases a parameter that does not exist");
    }
    if (allocation.kind() != AllocationKind::Parameter ||
        allocation.parameter() != static_cast<uint32_t>(result->alias_parameter())) {
      return VerifyError("result", "does not lie in the parameter that it aliases");
    }
  }
  return absl::OkStatus();
}

// The host reads the sizes, and cuts results to them.
absl::Status VerifyDynamicSizes(const Program& program) {
  const auto& results = *program.results();
  int32_t num_sizes = 0;
  if (program.has_size_result()) {
    if (results.size() == 0) return VerifyError("size result", "does not exist");
    const Result& sizes = *results.Get(results.size() - 1);
    const Shape& shape = *sizes.shape();
    if (shape.element_type() != ElementType::S32 || shape.dimensions()->size() != 1 ||
        shape.dimensions()->Get(0) > std::numeric_limits<int32_t>::max() ||
        sizes.memory_kind() != MemoryKind::PinnedHost || sizes.dynamic_sizes() != nullptr) {
      return VerifyError("size result", "must be a vector of s32 in pinned host memory");
    }
    num_sizes = static_cast<int32_t>(shape.dimensions()->Get(0));
  }
  for (const Result* result : results) {
    if (result->dynamic_sizes() == nullptr || result->dynamic_sizes()->size() == 0) continue;
    if (result->dynamic_sizes()->size() != result->shape()->dimensions()->size() ||
        result->alias_kind() != AliasKind::None) {
      return VerifyError("result", "has sizes of other dimensions, or in a parameter's memory");
    }
    for (const int32_t place : *result->dynamic_sizes()) {
      if (place < -1 || place >= num_sizes) return VerifyError("result", "its size does not exist");
    }
  }
  return absl::OkStatus();
}

absl::Status VerifyModules(const Program& program, absl::Span<const uint8_t> blobs) {
  for (const Blob* module : *program.modules()) {
    ONEXPU_RETURN_IF_ERROR(VerifyBlob(*module, blobs, "module"));
    uint32_t magic = 0;
    if (module->size() >= kSpirvHeaderBytes) {
      std::memcpy(&magic, blobs.data() + module->offset(), sizeof(magic));
    }
    if (magic != kSpirvMagic || module->size() % sizeof(uint32_t) != 0) {
      return VerifyError("module", "is no SPIR-V");
    }
  }
  return absl::OkStatus();
}

absl::Status VerifyKernels(const Program& program) {
  for (const Kernel* kernel : *program.kernels()) {
    const auto& global = *kernel->global_size();
    const auto& local = *kernel->local_size();
    if (kernel->module_() >= program.modules()->size() || kernel->entry_point()->size() == 0) {
      return VerifyError("kernel", "its module or entry point does not exist");
    }
    if (global.size() < 1 || global.size() > 3 ||
        (local.size() != 0 && local.size() != global.size())) {
      return VerifyError(kernel->entry_point()->c_str(), "launch size has no rank from 1 to 3");
    }
    uint64_t items = 1;
    for (uint32_t i = 0; i < global.size(); ++i) {
      if (global[i] == 0 || __builtin_mul_overflow(items, global[i], &items)) {
        return VerifyError(kernel->entry_point()->c_str(), "launch size is empty or too large");
      }
      if (local.size() != 0 && (local[i] == 0 || global[i] % local[i] != 0)) {
        return VerifyError(kernel->entry_point()->c_str(),
                           "work-group size does not divide the launch size");
      }
    }
  }
  return absl::OkStatus();
}

absl::Status VerifyHloLiterals(const Program& program, absl::Span<const uint8_t> blobs) {
  if (program.hlo_literals() == nullptr) return absl::OkStatus();
  const uint64_t proto_bytes = program.hlo_proto() == nullptr ? 0 : program.hlo_proto()->size();
  uint64_t last = 0;
  for (const HloLiteral* literal : *program.hlo_literals()) {
    if (literal->position() < last || literal->position() > proto_bytes) {
      return VerifyError("HLO literal", "out of order, or beyond the HLO");
    }
    last = literal->position();
    ONEXPU_RETURN_IF_ERROR(VerifyBlob(*literal->blob(), blobs, "HLO literal"));
    const uint64_t element_bytes = ElementBytes(literal->encoding());
    if (element_bytes == 0) return VerifyError("HLO literal", "unknown encoding");
    if (literal->blob()->size() % element_bytes != 0) {
      return VerifyError("HLO literal", "its size is not a multiple of its element's");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyProgram(const Program& program, absl::Span<const uint8_t> blobs) {
  if (program.num_replicas() < 1 || program.num_partitions() < 1) {
    return VerifyError("program", "has no replica or partition");
  }
  if (int64_t{program.num_replicas()} * program.num_partitions() > kMaxParticipants) {
    return VerifyError("program", absl::StrCat("more than ", kMaxParticipants,
                                               " participants (replicas times partitions)"));
  }
  ONEXPU_RETURN_IF_ERROR(VerifyTarget(*program.target()));
  ONEXPU_RETURN_IF_ERROR(VerifyAllocations(program, blobs));
  ONEXPU_RETURN_IF_ERROR(VerifyParameters(program));
  ONEXPU_RETURN_IF_ERROR(VerifyResults(program));
  ONEXPU_RETURN_IF_ERROR(VerifyDynamicSizes(program));
  ONEXPU_RETURN_IF_ERROR(VerifyModules(program, blobs));
  ONEXPU_RETURN_IF_ERROR(VerifyKernels(program));
  for (const Blob* blob : {program.hlo_proto(), program.compile_options()}) {
    if (blob != nullptr) ONEXPU_RETURN_IF_ERROR(VerifyBlob(*blob, blobs, "metadata"));
  }
  ONEXPU_RETURN_IF_ERROR(VerifyHloLiterals(program, blobs));
  ONEXPU_RETURN_IF_ERROR(VerifyThunks(program, *program.thunks()));
  return VerifyResizable(program);
}

}  // namespace onexpu::program
