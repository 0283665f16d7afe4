// XLA_FFI_ExecutionContext on our side, the state objects of a call site, and the tables that
// handlers are given.
//
// A context lives for one call of one stage's handlers and is used by one thread. The tables are
// constants.
#ifndef PJRT_CORE_FFI_CONTEXT_H_
#define PJRT_CORE_FFI_CONTEXT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/device/device.h"
#include "pjrt_core/device/event.h"
#include "pjrt_core/ffi/registry.h"
#include "pjrt_core/opencl/direct_kernel.h"
#include "sycl/sycl.hpp"
#include "xla/ffi/api/c_api.h"

namespace onexpu {

// What a stateful handler leaves behind in one stage. Owns it: freed by the deleter of its
// registered type.
class FfiState {
 public:
  FfiState() = default;
  ~FfiState() { Reset(); }
  FfiState(const FfiState&) = delete;
  FfiState& operator=(const FfiState&) = delete;

  absl::Status Set(int64_t type_id, void* object);
  absl::StatusOr<void*> Get(int64_t type_id) const;
  void Reset();

 private:
  int64_t type_id_ = 0;
  void* object_ = nullptr;
};

// User data of every execution: a std::optional<sycl::event>*, or null if the event is not needed.
// A handler that stores the event of its last command there avoids a marker command, which costs
// some microseconds.
inline constexpr absl::string_view kLastCommandType = "onexpu.last_command";

// User data that every execution carries: a cl_command_queue where the stream is the caller's
// queue, for DirectKernel; else null.
inline constexpr absl::string_view kCallerQueueType = "onexpu.caller_queue";

// The table of the XLA FFI version that a handler was built against: 0.3 put `stage` before
// `type_id` in the arguments of State_Set and State_Get, so one table cannot serve both.
const XLA_FFI_Api* FfiApi(int api_minor);

// The table that this library's own handlers register themselves and their types with. Constant.
const XLA_FFI_Api* ProcessFfiApi();

}  // namespace onexpu

struct XLA_FFI_ExecutionContext {
  XLA_FFI_ExecutionContext() = default;
  ~XLA_FFI_ExecutionContext();  // frees scratch that the handler left
  XLA_FFI_ExecutionContext(const XLA_FFI_ExecutionContext&) = delete;
  XLA_FFI_ExecutionContext& operator=(const XLA_FFI_ExecutionContext&) = delete;

  struct Scratch {
    void* memory;
    size_t bytes;
  };

  sycl::queue* queue = nullptr;      // null while instantiating: no device yet
  onexpu::Device* device = nullptr;  // likewise
  const onexpu::FfiUserData* user_data = nullptr;
  int64_t run_id = 0;
  std::optional<sycl::event>* last_command = nullptr;  // see kLastCommandType
  const onexpu::DirectQueue* caller = nullptr;         // see kCallerQueueType
  onexpu::FfiState* instantiated = nullptr;            // the call site's
  onexpu::FfiState prepared;                           // this execution's
  onexpu::FfiState initialized;
  absl::InlinedVector<Scratch, 4> scratch;
  absl::Status refused;  // why there was no scratch memory, the last time there was none
};

// Completed by the handler, from any thread.
struct XLA_FFI_Future {
  std::shared_ptr<onexpu::Event> event = onexpu::Event::Create();
};

#endif  // PJRT_CORE_FFI_CONTEXT_H_
