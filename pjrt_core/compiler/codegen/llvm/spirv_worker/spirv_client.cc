#include "pjrt_core/compiler/codegen/llvm/spirv_worker/spirv_client.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/fork_server/client.h"

namespace onexpu::compiler {
namespace {

using fork_server::ResponseCode;

// Writes the module that could not be emitted where a report can find it.
std::string KeepModule(absl::string_view bitcode) {
  const char* directory = std::getenv("TMPDIR");
  std::string path =
      absl::StrCat(directory == nullptr ? "/tmp" : directory, "/onexpu-module-XXXXXX.bc");
  const int file = ::mkostemps(path.data(), 3, O_CLOEXEC);
  if (file < 0) return "";
  const bool written =
      ::write(file, bitcode.data(), bitcode.size()) == static_cast<ssize_t>(bitcode.size());
  ::close(file);
  return written ? absl::StrCat(" (the module is kept in ", path, ")") : "";
}

absl::Status ToStatus(ResponseCode code, const std::string& message, absl::string_view bitcode) {
  switch (code) {
    case ResponseCode::kRefused:
      return absl::UnimplementedError(absl::StrCat(
          "onexpu: LLVM's SPIR-V back end refused the module: ", message, KeepModule(bitcode)));
    case ResponseCode::kCrashed:
      return absl::InternalError(
          absl::StrCat("onexpu: LLVM's SPIR-V back end: ", message, KeepModule(bitcode)));
    case ResponseCode::kInvalidInput:
      return absl::InternalError(absl::StrCat(
          "onexpu: the generated LLVM module is invalid: ", message, KeepModule(bitcode)));
    default:
      return absl::InternalError(absl::StrCat("onexpu: SPIR-V worker: ", message));
  }
}

}  // namespace

absl::StatusOr<std::string> EmitSpirvInWorker(absl::string_view worker, absl::string_view bitcode,
                                              absl::string_view extensions) {
  ONEXPU_ASSIGN_OR_RETURN(fork_server::Response response,
                          fork_server::Client::ForProgram(worker).Send(bitcode, extensions));
  if (response.code != ResponseCode::kOk) return ToStatus(response.code, response.payload, bitcode);
  return std::move(response.payload);
}

}  // namespace onexpu::compiler
