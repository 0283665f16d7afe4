// The targets of ahead-of-time compilation, in one table: the CPU device, and Intel GPUs by the
// names of Intel's ahead-of-time compiler (ocloc).
#ifndef PJRT_CORE_TARGET_KNOWN_TARGETS_H_
#define PJRT_CORE_TARGET_KNOWN_TARGETS_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace onexpu {

// Support of 64-bit floating-point arithmetic.
enum class Fp64 {
  kNone,
  kEmulated,  // by the driver, if NEO_FP64_EMULATION=1 was set before it started
  kNative,
};

// Architecture and release of a GPU's IP version (GMDID): 12.55 of 12.55.8.
struct IpVersion {
  uint32_t architecture;
  uint32_t release;
};

struct KnownTarget {
  std::string_view name;  // "pvc"
  std::string_view kind;  // The largest part of the family, which the values below describe.
  std::vector<IpVersion> ip_versions;  // Empty for the CPU device.
  uint32_t compute_units;              // Vector engines of one tile, or hardware threads.
  uint32_t max_work_group_size;
  uint64_t local_memory_bytes;
  std::vector<uint32_t> sub_group_sizes;
  Fp64 fp64;
  bool has_bf16;                  // Primitives of oneDNN.
  uint64_t max_allocation_bytes;  // 0: as large as the memory.

  bool is_gpu() const { return !ip_versions.empty(); }
};

const std::vector<KnownTarget>& KnownTargets();

// Null if there is none.
const KnownTarget* FindKnownTarget(std::string_view name);
const KnownTarget* FindKnownTarget(const IpVersion& version);

}  // namespace onexpu

#endif  // PJRT_CORE_TARGET_KNOWN_TARGETS_H_
