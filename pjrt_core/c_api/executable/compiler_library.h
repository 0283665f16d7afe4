// libonexpu_compiler.so, opened at the first compile and never before: a process that only runs
// stored Programs holds no compiler, and one without TensorFlow can still load the plugin.
//
// One per process, never closed. Thread-safe; compiles run in parallel.
#ifndef PJRT_CORE_C_API_EXECUTABLE_COMPILER_LIBRARY_H_
#define PJRT_CORE_C_API_EXECUTABLE_COMPILER_LIBRARY_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "pjrt_core/compiler/compiler.h"
#include "pjrt_core/program/container.h"

namespace onexpu::c_api {

struct CompileInput {
  absl::string_view code;
  absl::string_view format;           // "mlir", "hlo", "hlo_with_config"
  absl::string_view compile_options;  // serialized xla.CompileOptionsProto
  absl::Span<const uint8_t> target;   // FlatBuffer of program.TargetDescription
};

class CompilerLibrary {
 public:
  static CompilerLibrary& Get();

  // The bytes of the Program, in the compiler's memory. FAILED_PRECONDITION when the library or
  // TensorFlow's is missing or of another version (the message names the pip line), and in a
  // fork()ed child of a process that has compiled.
  absl::StatusOr<program::AlignedBytes> Compile(const CompileInput& input);

 private:
  CompilerLibrary() = default;

  struct Functions {
    OnexpuCompileFn compile = nullptr;
    OnexpuReleaseCompileResultFn release = nullptr;
    std::string spirv_worker;
  };

  // Opens the library, or says why not. A failure is not remembered: the user may install what is
  // missing.
  absl::StatusOr<const Functions*> Load();
  absl::Status Open() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  pid_t process_ ABSL_GUARDED_BY(mutex_) = 0;  // that opened it; 0: not open
  Functions functions_;                        // immutable once open
};

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_EXECUTABLE_COMPILER_LIBRARY_H_
