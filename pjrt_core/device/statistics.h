// Counters that reports and tests read: transfers by origin, launches. Thread-safe, updated with
// relaxed atomics.
#ifndef PJRT_CORE_DEVICE_STATISTICS_H_
#define PJRT_CORE_DEVICE_STATISTICS_H_

#include <array>
#include <atomic>
#include <cstdint>

namespace onexpu {

enum class TransferDirection { kHostToDevice = 0, kDeviceToHost = 1, kDeviceToDevice = 2 };

// Who asked for a transfer. A client handle carries its framework; the core names its own.
enum class Origin {
  kUnknown = 0,
  kTensorFlow = 1,
  kJax = 2,
  kOnexpu = 3,
  kCallback = 4,
  kProgram = 5
};
inline constexpr int kNumOrigins = 6;

// Through which entry.
enum class TransferEntry {
  kFromHostBuffer = 0,
  kToHostBuffer = 1,
  kCopyRaw = 2,
  kCopy = 3,
  kConstants = 4,
  kStaging = 5
};
inline constexpr int kNumTransferEntries = 6;

struct TransferCount {
  std::atomic<uint64_t> count{0};
  std::atomic<uint64_t> bytes{0};
};

class Statistics {
 public:
  void CountTransfer(TransferDirection direction, Origin origin, TransferEntry entry,
                     uint64_t bytes) {
    TransferCount& c = transfer(direction, origin, entry);
    c.count.fetch_add(1, std::memory_order_relaxed);
    c.bytes.fetch_add(bytes, std::memory_order_relaxed);
  }
  TransferCount& transfer(TransferDirection d, Origin o, TransferEntry e) {
    return transfers_[static_cast<int>(d)][static_cast<int>(o)][static_cast<int>(e)];
  }

  std::atomic<uint64_t> programs_executed{0};
  std::atomic<uint64_t> kernels_launched{0};
  std::atomic<uint64_t> library_calls{0};
  std::atomic<uint64_t> eager_launches{0};

 private:
  std::array<std::array<std::array<TransferCount, kNumTransferEntries>, kNumOrigins>, 3> transfers_;
};

}  // namespace onexpu

#endif  // PJRT_CORE_DEVICE_STATISTICS_H_
