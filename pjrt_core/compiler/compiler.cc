#include "pjrt_core/compiler/compiler.h"

#include <cstdlib>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/compiler/child/compile_in_child.h"
#include "pjrt_core/compiler/compile.h"
#include "pjrt_core/program/container.h"

#define ONEXPU_EXPORT __attribute__((visibility("default")))

namespace {

using onexpu::compiler::CompileRequest;
using onexpu::program::AlignedBytes;

// What the caller sees, and what it points to.
struct OwningResult : OnexpuCompileResult {
  OwningResult() : OnexpuCompileResult{} {}
  std::string message_bytes;
  AlignedBytes program_bytes;
};

absl::StatusOr<AlignedBytes> CompileAsAsked(CompileRequest request) {
  const char* mode = std::getenv("ONEXPU_COMPILE");
  const absl::string_view value = mode == nullptr ? "" : mode;
  request.may_use_child = value.empty();
  if (value.empty() || value == "inline") return onexpu::compiler::Compile(request);
  if (value == "process") return onexpu::compiler::CompileInChild(request);
  return absl::InvalidArgumentError("onexpu: ONEXPU_COMPILE must be \"inline\" or \"process\"");
}

}  // namespace

ONEXPU_EXPORT OnexpuCompileResult* OnexpuCompile(const OnexpuCompileRequest* request) {
  CompileRequest parts;
  parts.code = {request->code, request->code_size};
  parts.format = {request->format, request->format_size};
  parts.compile_options = {request->compile_options, request->compile_options_size};
  parts.target = {reinterpret_cast<const char*>(request->target), request->target_size};
  parts.spirv_worker = request->spirv_worker;
  absl::StatusOr<AlignedBytes> program = CompileAsAsked(std::move(parts));

  auto* result = new OwningResult;
  result->struct_size = sizeof(OnexpuCompileResult);
  result->code = static_cast<int32_t>(program.status().code());
  if (program.ok()) {
    result->program_bytes = *std::move(program);
    result->program = result->program_bytes.data();
    result->program_size = result->program_bytes.size();
  } else {
    result->message_bytes = std::string(program.status().message());
    result->message = result->message_bytes.data();
    result->message_size = result->message_bytes.size();
  }
  return result;
}

ONEXPU_EXPORT void OnexpuReleaseCompileResult(OnexpuCompileResult* result) {
  delete static_cast<OwningResult*>(result);
}

ONEXPU_EXPORT int32_t OnexpuCompilerAbiVersion(void) { return ONEXPU_COMPILER_ABI_VERSION; }
