// One step of a Program's execution. Created when the Program is loaded, executed any number of
// times.
//
// Thread-safe after creation: Execute may run on several threads for one object, each with its own
// context. What differs from run to run is in ExecuteContext alone.
#ifndef PJRT_CORE_THUNKS_THUNK_H_
#define PJRT_CORE_THUNKS_THUNK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "pjrt_core/device/command_trace.h"
#include "pjrt_core/device/library_errors.h"
#include "pjrt_core/device/statistics.h"
#include "pjrt_core/ffi/registry.h"
#include "pjrt_core/opencl/direct_kernel.h"
#include "pjrt_core/program/container.h"
#include "sycl/sycl.hpp"

namespace onexpu {

class CommandThrottle;
class Device;
class DnnlContext;
class Rendezvous;

// Where a Program's allocations are, this time.
class AllocationTable {
 public:
  explicit AllocationTable(absl::Span<void* const> addresses) : addresses_(addresses) {}
  void* Resolve(const program::Slice& slice) const {
    return static_cast<char*>(addresses_[slice.allocation()]) + slice.offset();
  }

 private:
  absl::Span<void* const> addresses_;
};

// The key of packed weights: which contents a slice holds. Equal versions mean equal bytes; 0 means
// unknown.
using ContentVersion = uint64_t;

// Rows and columns of the arrays of a resizable Program in one run.
struct Extents {
  uint64_t rows = 1;
  uint64_t columns = 0;
};

struct ExecuteContext {
  sycl::queue& queue;  // the device's in-order compute queue, or its caller's queue
  // The same, where it is the caller's queue; null otherwise. One thread at a time has it.
  const DirectQueue* caller = nullptr;
  AllocationTable allocations;
  absl::Span<const ContentVersion> versions;  // by allocation
  Extents extents;                            // of resizable Programs
  void* scratch = nullptr;  // the device's arena, at least ThunkSequence::scratch_bytes()
  size_t scratch_bytes = 0;
  Device* device = nullptr;
  Statistics& statistics;
  const FfiUserData* ffi_user_data = nullptr;
  int64_t run_id = 0;
  CommandThrottle* throttle = nullptr;  // null for Programs that must not wait
  // Receives the name of the op that is being submitted, for reports of long waits. Null if the
  // throttle is.
  std::atomic<const char*>* current_op = nullptr;
  Rendezvous* rendezvous = nullptr;  // null for a device that runs alone
  RunTrace* trace = nullptr;         // null unless a profiler is active
  // Takes the event of the one command that the run is, or of the last one of its one handler; null
  // for other runs.
  std::optional<sycl::event>* only_command = nullptr;
};

// What thunks are created from.
struct LoadContext {
  const program::Container& program;
  Device* device;
  uint32_t participant = 0;  // replica * num_partitions + partition
  sycl::queue& queue;        // for engines and contexts; nothing is submitted while loading
  absl::Span<const sycl::kernel> kernels;  // by index into Program.kernels
  const HandlerRegistry& handlers;
  // The kernel of HostCall (host_call.h); null for devices that have none.
  std::function<absl::StatusOr<sycl::kernel>()> host_call_kernel;
  mutable std::shared_ptr<DnnlContext>
      dnnl;  // made by the first library thunk, shared by the others (dnnl_context.h)
};

// Submitting this many commands takes longer than a thread hop, and a queue this deep has the
// device busy. On the CPU device the cost of a command grows with the commands that are in flight
// around library calls.
inline constexpr int64_t kMaxNonBlockingCommands = 128;

class Thunk {
 public:
  Thunk(std::string op_name, std::string source)
      : op_name_(std::move(op_name)), source_(std::move(source)) {}
  virtual ~Thunk() = default;
  Thunk(const Thunk&) = delete;
  Thunk& operator=(const Thunk&) = delete;

  // Submits to context.queue and returns. Only thunks that say so may wait.
  virtual absl::Status Execute(const ExecuteContext& context) = 0;
  // Device scratch that one execution needs; the arena has the largest of all.
  virtual size_t scratch_bytes() const { return 0; }
  // Whether Execute waits for the device or the host: its Program then runs on the launcher thread.
  virtual bool blocks() const { return false; }
  // Whether Execute waits for a library's host task and what is before it (library_order.h): its
  // Program then runs on the launcher thread, unless it is cheap.
  virtual bool waits_for_library() const { return false; }
  // Whether all that Execute does is to submit kernels, copies, fills and host calls to
  // context.queue. Another queue of the device may then run them, if nothing else uses the arena
  // meanwhile.
  virtual bool follows_queue() const { return false; }
  // About how many commands Execute submits.
  virtual int64_t commands() const { return 1; }
  virtual absl::string_view kind() const = 0;  // "kernel", "gemm", ...: for dumps and profiles

  // What a profile calls it.
  virtual std::string label() const;
  // CommandLabel::work_items.
  virtual std::string work_items() const { return ""; }

  const std::string& op_name() const { return op_name_; }
  const std::string& source() const { return source_; }
  // "(op %dot.3, model.py:12)" for errors.
  std::string where() const;

 private:
  std::string op_name_;
  std::string source_;
};

class ThunkSequence {
 public:
  static absl::StatusOr<ThunkSequence> Create(const program::ThunkSequence& sequence,
                                              const LoadContext& context);
  // Errors carry the failing thunk's op and source.
  absl::Status Execute(const ExecuteContext& context) const;
  size_t scratch_bytes() const { return scratch_bytes_; }
  bool blocks() const { return blocks_; }
  bool waits_for_library() const { return waits_for_library_; }
  bool follows_queue() const { return follows_queue_; }
  size_t size() const { return thunks_.size(); }
  // Whether Execute submits one kernel, or calls one handler, and nothing else.
  bool is_one_command() const { return is_one_command_; }
  int64_t commands() const { return commands_; }

 private:
  std::vector<std::unique_ptr<Thunk>> thunks_;
  size_t scratch_bytes_ = 0;
  bool blocks_ = false;
  bool waits_for_library_ = false;
  bool follows_queue_ = true;
  bool is_one_command_ = false;
  int64_t commands_ = 0;
};

// The one list of thunk kinds (thunk_factory.cc).
absl::StatusOr<std::unique_ptr<Thunk>> CreateThunk(const program::Thunk& thunk,
                                                   const LoadContext& context);

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_THUNK_H_
