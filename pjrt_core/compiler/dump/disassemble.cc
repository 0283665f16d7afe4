#include "pjrt_core/compiler/dump/disassemble.h"

#include <spirv-tools/libspirv.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace onexpu::compiler {

std::string DisassembleSpirv(absl::string_view spirv) {
  const std::unique_ptr<spv_context_t, void (*)(spv_context)> context(
      spvContextCreate(SPV_ENV_UNIVERSAL_1_4), spvContextDestroy);
  std::vector<uint32_t> words(spirv.size() / sizeof(uint32_t));
  spirv.copy(reinterpret_cast<char*>(words.data()), words.size() * sizeof(uint32_t));
  spv_text text = nullptr;
  spv_diagnostic diagnostic = nullptr;
  constexpr uint32_t kOptions =
      SPV_BINARY_TO_TEXT_OPTION_INDENT | SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES;
  const spv_result_t result =
      spvBinaryToText(context.get(), words.data(), words.size(), kOptions, &text, &diagnostic);
  std::string assembly;
  if (result == SPV_SUCCESS) {
    assembly.assign(text->str, text->length);
  } else {
    assembly = absl::StrCat(
        "; cannot be disassembled: ", diagnostic == nullptr ? "" : diagnostic->error, "\n");
  }
  spvTextDestroy(text);
  spvDiagnosticDestroy(diagnostic);
  return assembly;
}

}  // namespace onexpu::compiler
