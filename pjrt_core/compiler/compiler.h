// The C entry of libonexpu_compiler.so: StableHLO or HLO in, Program out.
//
// The library is opened by the core (dlopen, RTLD_LOCAL) at the first compile and never unloaded.
// Every function may be called from any thread. Nothing that is C++ crosses this boundary: the
// library links TensorFlow's XLA and Abseil, the core links its own. Strings are not terminated
// unless it says so.
#ifndef PJRT_CORE_COMPILER_COMPILER_H_
#define PJRT_CORE_COMPILER_COMPILER_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Raised by any incompatible change; the core refuses a library of another version by name.
#define ONEXPU_COMPILER_ABI_VERSION 1

typedef struct OnexpuCompileRequest {
  size_t struct_size;
  const char* code;  // StableHLO bytecode, a portable artifact or MLIR text ("mlir"),
                     // HloModuleProto ("hlo"),
  size_t code_size;  // HloModuleProtoWithConfig ("hlo_with_config")
  const char* format;
  size_t format_size;
  const char* compile_options;  // serialized xla.CompileOptionsProto
  size_t compile_options_size;
  const uint8_t* target;  // a FlatBuffer whose root is program.TargetDescription
  size_t target_size;
  const char* spirv_worker;  // path of onexpu-spirv, NUL-terminated
} OnexpuCompileRequest;

typedef struct OnexpuCompileResult {
  size_t struct_size;
  int32_t code;         // absl::StatusCode; 0: `program` is set, otherwise `message`
  const char* message;  // owned by the result
  size_t message_size;
  const uint8_t* program;  // a program container, owned by the result, 64-byte aligned
  size_t program_size;
} OnexpuCompileResult;

// Compiles; always returns a result, to be released with OnexpuReleaseCompileResult.
typedef OnexpuCompileResult* (*OnexpuCompileFn)(const OnexpuCompileRequest* request);
typedef void (*OnexpuReleaseCompileResultFn)(OnexpuCompileResult* result);
typedef int32_t (*OnexpuCompilerAbiVersionFn)(void);

OnexpuCompileResult* OnexpuCompile(const OnexpuCompileRequest* request);
void OnexpuReleaseCompileResult(OnexpuCompileResult* result);
int32_t OnexpuCompilerAbiVersion(void);

#ifdef __cplusplus
}
#endif

#endif  // PJRT_CORE_COMPILER_COMPILER_H_
