// The compiler library's side of `onexpu-spirv`: sends a module as bitcode, gets SPIR-V.
//
// One object per worker program and process, made at the first use and never released. Thread-safe:
// requests run at once, each in a process of its own. The worker is started lazily, started again
// when it has died, and started afresh in a process that was forked from ours.
#ifndef PJRT_CORE_COMPILER_CODEGEN_SPIRV_WORKER_SPIRV_CLIENT_H_
#define PJRT_CORE_COMPILER_CODEGEN_SPIRV_WORKER_SPIRV_CLIENT_H_

#include <sys/types.h>

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace onexpu::compiler {

class SpirvClient {
 public:
  // The client of the program at `worker_path`.
  static SpirvClient& ForWorker(absl::string_view worker_path);

  // Emits `bitcode`, written by this LLVM. `extensions` is the value of --spirv-ext, empty for
  // none. NOT_FOUND when the worker cannot be started, UNIMPLEMENTED when the back end refuses the
  // module, INTERNAL when it crashes; the latter two keep the module in a file and name it.
  absl::StatusOr<std::string> Emit(absl::string_view bitcode, absl::string_view extensions);

 private:
  explicit SpirvClient(absl::string_view worker_path) : worker_path_(worker_path) {}

  // Starts the worker if there is none that serves this process.
  absl::Status EnsureWorker() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropWorker() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Hands a fresh stream to the worker; returns our end.
  absl::StatusOr<int> OpenStream();

  const std::string worker_path_;
  absl::Mutex mutex_;
  int control_ ABSL_GUARDED_BY(mutex_) = -1;
  pid_t worker_ ABSL_GUARDED_BY(mutex_) = -1;
  pid_t owner_ ABSL_GUARDED_BY(mutex_) = -1;  // the process that started the worker
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_SPIRV_WORKER_SPIRV_CLIENT_H_
