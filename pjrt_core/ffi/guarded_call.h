// The debug mode ONEXPU_KERNEL_CHECKS=1: runs a user's kernel on copies of its operands and results
// that have guard zones before and after them, and reports what the kernel does outside of them.
//
// - Writes into a guard zone, and writes to an operand, are found by comparing the memory with what
//   it held before the launch.
// - Reads of a guard zone are found through the results: the kernel runs again with other contents
//   in the guard zones. If its results change with them, and stay the same while they do, it reads
//   them. A read that no result depends on is not found.
// - Results start as NaN (floating-point types), as bytes of 0xA5 (integers) or as true.
//
// Blocks until the device is done: for the launcher thread. The memory is written and read by
// commands on the queue only. Thread-compatible; one object serves one call.
#ifndef PJRT_CORE_FFI_GUARDED_CALL_H_
#define PJRT_CORE_FFI_GUARDED_CALL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "pjrt_core/device/device.h"
#include "pjrt_core/program/program_generated.h"
#include "sycl/sycl.hpp"

namespace onexpu {

// Whether ONEXPU_KERNEL_CHECKS is set. Read once per process.
bool ShouldCheckKernels();

// An operand or a result of the call, in the caller's memory.
struct CheckedBuffer {
  std::string name;  // in reports: "'x'", "operand 0"
  program::ElementType element_type = program::ElementType::Invalid;
  size_t bytes = 0;
  void* address = nullptr;
};

class GuardedCall {
 public:
  // Submits the kernel on these addresses.
  using Run = absl::FunctionRef<absl::Status(absl::Span<void* const> operands,
                                             absl::Span<void* const> results)>;

  // `kernel` names the kernel in reports.
  GuardedCall(std::string kernel, Device& device, sycl::queue& queue);
  // Frees the guarded copies in the queue's order.
  ~GuardedCall();
  GuardedCall(const GuardedCall&) = delete;
  GuardedCall& operator=(const GuardedCall&) = delete;

  // Runs the kernel and writes its results to the caller's memory. INVALID_ARGUMENT names the
  // kernel and lists what it did outside of its operands. Reads are only checked if
  // `is_repeatable`: the kernel has no effect beyond its results. Throws what SYCL throws.
  absl::Status Execute(std::vector<CheckedBuffer> operands, std::vector<CheckedBuffer> results,
                       bool is_repeatable, Run run);

 private:
  // What guard zones hold: values that no computation gives by chance, of two kinds.
  enum class Filling { kNan, kFinite };
  enum class Side { kBefore, kAfter };

  // A buffer with its guard zones.
  struct Zone {
    CheckedBuffer buffer;
    bool is_result = false;
    size_t element_bytes = 1;
    size_t guard = 0;            // bytes of each of the two guard zones
    uint8_t* memory = nullptr;   // guard zone, contents, guard zone
    std::vector<uint8_t> image;  // what the memory holds before a run
    std::vector<uint8_t> after;  // and after the last run

    size_t size() const { return 2 * guard + buffer.bytes; }
    void* data() const { return memory + guard; }
    // Of both images: the contents, or a guard zone.
    absl::Span<const uint8_t> Contents(const std::vector<uint8_t>& of) const;
    absl::Span<uint8_t> Guard(Side side);
    absl::Span<const uint8_t> GuardAfter(Side side) const;
  };
  using Results = std::vector<std::vector<uint8_t>>;

  absl::Status AddZone(CheckedBuffer buffer, bool is_result);
  void ReadOperands();
  absl::Status RunOnce(Run run);
  absl::Status RunWithGuards(Filling filling, Run run, Results& results);
  void FindWrites();
  absl::Status FindReads(const Results& first, Run run);
  absl::Status FindRead(Zone& zone, Side side, const Results& expected, Run run);
  void FillGuards(Filling filling);
  Results TakeResults() const;
  void WriteResults(const Results& results);

  static void Fill(program::ElementType type, Filling filling, absl::Span<uint8_t> memory);

  const std::string kernel_;
  Device& device_;
  sycl::queue& queue_;
  std::vector<Zone> zones_;  // operands, then results
  size_t num_operands_ = 0;
  std::vector<std::string> reports_;
};

}  // namespace onexpu

#endif  // PJRT_CORE_FFI_GUARDED_CALL_H_
