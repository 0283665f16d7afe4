// A Program bound to a device: constants uploaded, kernels built, thunks created. What
// PJRT_LoadedExecutable is made of.
//
// Shared; thread-safe: any number of threads may execute it at once. Owns its constants; keeps its
// client alive.
#ifndef PJRT_CORE_RUNTIME_PROGRAM_LOADED_PROGRAM_H_
#define PJRT_CORE_RUNTIME_PROGRAM_LOADED_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "pjrt_core/ffi/registry.h"
#include "pjrt_core/program/container.h"
#include "pjrt_core/runtime/buffer/buffer.h"

namespace onexpu {

struct ExecuteOptions {
  int64_t launch_id = 0;
  int64_t trace_call_id = 0;  // of the call in the framework's trace (TracedRun)
  absl::Span<const int64_t> non_donatable_arguments;  // indexes
  const FfiUserData* ffi_user_data = nullptr;  // forwarded to FFI handlers; outlives the execution
  Origin origin = Origin::kUnknown;
};

struct ExecuteResult {
  std::vector<std::shared_ptr<Buffer>> results;
  std::shared_ptr<Event> done;  // null unless asked for
};

class LoadedProgram {
 public:
  virtual ~LoadedProgram() = default;

  virtual const program::Container& program() const = 0;
  virtual absl::Span<Device* const> devices() const = 0;

  // Enqueues and returns; waits for cheap work only. Checks count, element types, dimensions,
  // layouts and device of the arguments (INVALID_ARGUMENT names the argument). A donated argument
  // is deleted; donating one with live views or external references copies. An error of the work
  // itself poisons the results.
  virtual absl::StatusOr<ExecuteResult> Execute(absl::Span<const std::shared_ptr<Buffer>> arguments,
                                                Device* device, const ExecuteOptions& options,
                                                bool want_done) = 0;

  // The same on all devices of a Program that they run together, arguments and results by device:
  // in the order of devices(), with `rows` of one length. Programs of one replica and partition run
  // on each device by itself.
  virtual absl::StatusOr<std::vector<ExecuteResult>> ExecuteOnAll(
      absl::Span<const absl::Span<const std::shared_ptr<Buffer>>> rows,
      const ExecuteOptions& options, bool want_done) = 0;

  virtual void Delete() = 0;
  virtual bool IsDeleted() const = 0;
};

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_PROGRAM_LOADED_PROGRAM_H_
