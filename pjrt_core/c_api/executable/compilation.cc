#include "pjrt_core/c_api/executable/compilation.h"

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/c_api/entry.h"
#include "pjrt_core/c_api/executable/compiler_library.h"
#include "pjrt_core/c_api/executable/program_cache.h"

namespace onexpu::c_api {
namespace {

absl::Status CheckFormat(absl::string_view format) {
  for (absl::string_view known : {"mlir", "hlo", "hlo_with_config"}) {
    if (format == known) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("onexpu: program format '",
                                                 absl::CHexEscape(format),
                                                 "' is not one of mlir, hlo, hlo_with_config"));
}

}  // namespace

absl::StatusOr<program::Container> CompileProgram(const PJRT_Program& program,
                                                  absl::string_view compile_options,
                                                  absl::Span<const uint8_t> target) {
  const PJRT_Program whole = ReadStruct(program);
  ONEXPU_RETURN_IF_ERROR(RequireArray(whole, whole.code, whole.code_size, "code"));
  ONEXPU_RETURN_IF_ERROR(RequireArray(whole, whole.format, whole.format_size, "format"));
  CompileInput input;
  input.code = absl::string_view(whole.code, whole.code_size);
  input.format = absl::string_view(whole.format, whole.format_size);
  input.compile_options = compile_options;
  input.target = target;
  ONEXPU_RETURN_IF_ERROR(CheckFormat(input.format));
  ONEXPU_ASSIGN_OR_RETURN(const CachedProgram cached, CachedProgram::Of(input));
  if (std::optional<program::Container> found = cached.Find()) return *std::move(found);
  ONEXPU_ASSIGN_OR_RETURN(program::AlignedBytes bytes, CompilerLibrary::Get().Compile(input));
  cached.Store(bytes.span());
  return program::Container::AdoptFinished(std::move(bytes));
}

}  // namespace onexpu::c_api
