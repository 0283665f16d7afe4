// A SYCL device with its memory spaces, pool, timelines and launcher. Owned by the Client;
// thread-safe.
#ifndef PJRT_CORE_DEVICE_DEVICE_H_
#define PJRT_CORE_DEVICE_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "absl/types/variant.h"

namespace onexpu {

class Client;
class Device;

enum class MemoryKind { kDevice = 0, kPinnedHost = 1 };

// A place where a device's buffers live. Owned by the device.
class MemorySpace {
 public:
  MemorySpace(Device* device, MemoryKind kind, int id) : device_(device), kind_(kind), id_(id) {}
  Device* device() const { return device_; }
  MemoryKind kind() const { return kind_; }
  int id() const { return id_; }
  absl::string_view name() const { return kind_ == MemoryKind::kDevice ? "device" : "pinned_host"; }

 private:
  Device* device_;
  MemoryKind kind_;
  int id_;
};

// Bytes; the fields of PJRT_Device_MemoryStats.
struct MemoryStatistics {
  int64_t bytes_in_use = 0;
  int64_t peak_bytes_in_use = 0;
  int64_t num_allocations = 0;
  int64_t largest_allocation = 0;
  int64_t bytes_limit = 0;
  int64_t bytes_reserved = 0;
  int64_t peak_bytes_reserved = 0;
  int64_t pool_bytes = 0;
  int64_t largest_free_block_bytes = 0;
};

// Host memory that devices exchange data through.
struct StagingMemory {
  explicit StagingMemory(char* start) : address(start) {}
  virtual ~StagingMemory() = default;
  char* const address;
};

// Data goes through staging memory in chunks of this size, so that the copies to it and from it
// overlap.
inline constexpr size_t kStagingChunkBytes = size_t{8} << 20;

using AttributeValue = absl::variant<std::string, bool, int64_t, std::vector<int64_t>, float>;

class Device {
 public:
  virtual ~Device() = default;

  virtual Client* client() const = 0;
  virtual int id() const = 0;
  virtual int process_index() const { return 0; }
  virtual absl::string_view kind()
      const = 0;  // "Intel Data Center GPU Max 1100", "oneAPI CPU: ..."
  virtual absl::string_view debug_string() const = 0;  // "xpu:0 (...)"
  virtual absl::Span<const std::pair<std::string, AttributeValue>> attributes() const = 0;

  virtual MemorySpace* memory(MemoryKind kind) const = 0;
  virtual MemoryStatistics memory_statistics() const = 0;
  // The peaks and counts of memory_statistics() start over.
  virtual void ResetMemoryPeaks() = 0;

  // The largest operand of a handler's kernels, in bytes. Modules that onexpu does not build cannot
  // address more through one pointer on some GPUs.
  virtual size_t max_kernel_operand_bytes() const { return ~size_t{0}; }

  // A FlatBuffer whose root is program.TargetDescription, as the compiler takes it.
  virtual absl::Span<const uint8_t> target_description() const = 0;

  // Device memory for work on the compute queue, from the pool: for what is submitted after the
  // call. Freed in the queue's order, so work that was submitted before FreeOrdered may still use
  // it. Aligned to 256 bytes at least.
  virtual absl::StatusOr<void*> AllocateOrdered(size_t bytes) = 0;
  virtual void FreeOrdered(void* memory, size_t bytes) = 0;

  // Whether copies from the other device's memory, on this device's queues, have been verified.
  virtual bool CopiesFrom(const Device& other) const = 0;
  // Pinned host memory that all devices of the client copy to and from. Hold a reference until all
  // devices that use it have called UseStaging.
  virtual absl::StatusOr<std::shared_ptr<StagingMemory>> AllocateStaging(size_t bytes) = 0;
  // Records that the work which the device's launcher is submitting uses the memory.
  virtual void UseStaging(StagingMemory& staging) = 0;

  // Waits until all work submitted so far is done (tests, sync_devices). Never on the hot path.
  virtual absl::Status Synchronize() = 0;
};

}  // namespace onexpu

#endif  // PJRT_CORE_DEVICE_DEVICE_H_
