#include "pjrt_core/runtime/memory/usm_source.h"

#include <sys/mman.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "pjrt_core/base/environment.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/device/device_traits.h"
#include "pjrt_core/device/library_errors.h"
#include "pjrt_core/runtime/memory/level_zero_memory.h"
#include "pjrt_core/runtime/memory/memory_limit.h"
#include "pjrt_core/runtime/memory/memory_pool.h"

namespace onexpu {
namespace {

// The CPU device and integrated GPUs use host memory, which is committed on first touch. Allocating
// more than is free would succeed, and the system would kill the process later.
constexpr size_t kHostReserve = size_t{256} << 20;
constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

absl::StatusOr<void*> UsmSource::Allocate(MemoryKind kind, size_t bytes) const {
  const bool has_huge_pages = TraitsOf(device).has_huge_pages;
  const bool on_host = kind == MemoryKind::kPinnedHost || HasMemoryOfHost(device);
  if (const size_t available = on_host ? AvailableHostMemoryBytes() : 0;
      on_host && bytes + kHostReserve > available) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the host has ", available, " bytes available, of which ", kHostReserve, " stay free"));
  }
  const size_t alignment = has_huge_pages ? kHugePage : MemoryPool::kAlignment;
  void* memory = nullptr;
  ONEXPU_RETURN_IF_ERROR(CatchLibraryErrors([&] {
    if (bytes > max_allocation_bytes) {
      ONEXPU_ASSIGN_OR_RETURN(memory, AllocateAboveLimit(kind, bytes, alignment, device, context));
      return absl::OkStatus();
    }
    const auto usm =
        kind == MemoryKind::kDevice ? sycl::usm::alloc::device : sycl::usm::alloc::host;
    memory = sycl::aligned_alloc(alignment, bytes, device, context, usm);
    return absl::OkStatus();
  }));
  if (memory == nullptr) return absl::ResourceExhaustedError("the driver has no memory left");
  // Fewer faults when it is touched first, fewer misses of address translation afterwards.
  // Advice: nothing is lost where the system has no such pages.
  if (has_huge_pages) madvise(memory, bytes, MADV_HUGEPAGE);
  return memory;
}

void UsmSource::Free(void* memory, size_t bytes) const {
  CatchLibraryErrors([&] {
    if (bytes > max_allocation_bytes) {
      FreeAboveLimit(memory, context);
    } else {
      sycl::free(memory, context);
    }
    return absl::OkStatus();
  }).IgnoreError();
}

}  // namespace onexpu
