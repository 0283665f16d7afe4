// Calls of one FFI handler from one place: a custom-call thunk, or an eager launch.
//
// A call site prepares its call frames once; a call fills addresses into a frame of its own and
// allocates nothing. Thread-safe after Instantiate: any number of threads may call at once.
#ifndef PJRT_CORE_FFI_CALL_H_
#define PJRT_CORE_FFI_CALL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "pjrt_core/device/statistics.h"
#include "pjrt_core/ffi/context.h"
#include "pjrt_core/ffi/registry.h"
#include "pjrt_core/program/program_generated.h"
#include "sycl/sycl.hpp"
#include "xla/ffi/api/c_api.h"

namespace onexpu {

struct FfiBufferType {
  program::ElementType element_type = program::ElementType::Invalid;
  absl::InlinedVector<int64_t, 6> dimensions;
};

// Where a call happens, this time.
struct FfiInvocation {
  sycl::queue& queue;
  Device* device;
  Statistics& statistics;
  const FfiUserData* user_data = nullptr;
  int64_t run_id = 0;
  // Takes the event of the handler's last command, if the handler gives it; may be null.
  std::optional<sycl::event>* last_command = nullptr;
  const DirectQueue* caller = nullptr;  // the queue, where it is the caller's
};

class FfiCallSite {
 public:
  // `handler` comes from the registry, which keeps it. `attributes` (null: none) must outlive the
  // call site.
  FfiCallSite(const FfiHandler* handler, std::vector<FfiBufferType> operands,
              std::vector<FfiBufferType> results, const XLA_FFI_Attrs* attributes);
  ~FfiCallSite();
  FfiCallSite(const FfiCallSite&) = delete;
  FfiCallSite& operator=(const FfiCallSite&) = delete;

  // The handler's instantiate stage; once, before the first call.
  absl::Status Instantiate();

  // The other stages. `operands` and `results` are device addresses. Returns when the handler has
  // submitted its work; with kHandlerHostOperands, or when the handler returns a future, when that
  // is done.
  absl::Status Call(absl::Span<void* const> operands, absl::Span<void* const> results,
                    const FfiInvocation& invocation);

  const FfiHandler& handler() const { return *handler_; }
  // What a profile calls it: the user's kernel, for the handler of those, or the handler.
  std::string label() const;
  // Whether Call waits for the device, so that it must happen on the launcher thread: the handler
  // takes host operands, or kernels are checked.
  bool blocking() const;
  // Whether the handler does nothing but submit to the queue that it is given.
  bool follows_queue() const;

 private:
  class Frame;
  class FrameLease;

  std::unique_ptr<Frame> TakeFrame() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status RunStages(Frame& frame, const FfiInvocation& invocation);
  absl::Status CallThroughHost(Frame& frame, absl::Span<void* const> operands,
                               absl::Span<void* const> results, const FfiInvocation& invocation);
  // For ONEXPU_KERNEL_CHECKS (guarded_call.h).
  absl::Status CallGuarded(Frame& frame, absl::Span<void* const> operands,
                           absl::Span<void* const> results, const FfiInvocation& invocation);

  const FfiHandler* handler_;
  std::vector<FfiBufferType> operands_;
  std::vector<FfiBufferType> results_;
  XLA_FFI_Attrs attributes_ = {};
  const bool is_checked_;         // a user's kernel, with ONEXPU_KERNEL_CHECKS
  const size_t largest_operand_;  // or result, in bytes; 0 if no kernel accesses them
  FfiState state_;

  absl::Mutex mutex_;
  std::vector<std::unique_ptr<Frame>> idle_frames_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onexpu

#endif  // PJRT_CORE_FFI_CALL_H_
