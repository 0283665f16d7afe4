#include "pjrt_core/compiler/codegen/llvm/spirv_validation.h"

#include <spirv-tools/libspirv.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"

namespace onexpu::compiler {

absl::Status ValidateSpirv(absl::string_view spirv) {
  const char* wanted = std::getenv("ONEXPU_VERIFY_SPIRV");
  if (wanted == nullptr || absl::string_view(wanted) != "1") return absl::OkStatus();

  if (spirv.size() % sizeof(uint32_t) != 0) {
    return absl::InternalError(absl::StrCat("onexpu: a module of ", spirv.size(),
                                            " bytes is no SPIR-V: it is not made of words"));
  }
  const std::unique_ptr<spv_context_t, void (*)(spv_context)> context(
      spvContextCreate(SPV_ENV_UNIVERSAL_1_3), spvContextDestroy);
  std::vector<uint32_t> words(spirv.size() / sizeof(uint32_t));
  spirv.copy(reinterpret_cast<char*>(words.data()), words.size() * sizeof(uint32_t));
  spv_diagnostic diagnostic = nullptr;
  const spv_result_t result =
      spvValidateBinary(context.get(), words.data(), words.size(), &diagnostic);
  absl::Status status;
  if (result != SPV_SUCCESS) {
    status = absl::InternalError(
        absl::StrCat("onexpu: SPIRV-Tools refuses the generated module: ",
                     diagnostic == nullptr ? "it is no SPIR-V" : diagnostic->error));
  }
  spvDiagnosticDestroy(diagnostic);
  return status;
}

}  // namespace onexpu::compiler
