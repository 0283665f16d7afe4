#include "pjrt_core/compiler/dump/dump.h"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/compiler/dump/disassemble.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/xla.pb.h"

// XLA's header of these names MLIR's classes, which want LLVM headers that TensorFlow's wheel does
// not have.
namespace xla {

bool DumpingEnabledForHloModule(absl::string_view module_name, const DebugOptions& options);
std::vector<std::string> DumpHloModuleIfEnabled(const HloModule& module, absl::string_view name,
                                                const DebugOptions* options);
void DumpToFileInDir(const HloModule& module, absl::string_view prefix, absl::string_view suffix,
                     absl::string_view contents);
void DumpToFileInDirOrStdout(const HloModule& module, absl::string_view prefix,
                             absl::string_view suffix, absl::string_view contents);

}  // namespace xla

namespace onexpu::compiler {

ModuleDumper::ModuleDumper(const xla::HloModule& module)
    : module_(module),
      enabled_(!module.config().debug_options().xla_dump_to().empty() &&
               xla::DumpingEnabledForHloModule(module.name(), module.config().debug_options())) {}

void ModuleDumper::DumpModule(absl::string_view stage) const {
  if (enabled_) xla::DumpHloModuleIfEnabled(module_, stage, /*options=*/nullptr);
}

void ModuleDumper::DumpText(absl::string_view suffix, absl::FunctionRef<std::string()> text) const {
  if (enabled_) xla::DumpToFileInDirOrStdout(module_, "", suffix, text());
}

void ModuleDumper::DumpKernels(absl::Span<const CompiledModule> modules) const {
  if (!enabled_ || modules.empty()) return;
  const auto all = [&](std::string CompiledModule::* ir) {
    std::string text;
    for (const CompiledModule& module : modules) text += module.*ir;
    return text;
  };
  DumpText("ir-no-opt.ll", [&] { return all(&CompiledModule::ir_before); });
  DumpText("ir-with-opt.ll", [&] { return all(&CompiledModule::ir_after); });
  for (const CompiledModule& module : modules) {
    // Binary: not for a terminal.
    xla::DumpToFileInDir(module_, "", absl::StrCat(module.name, ".spv"), module.spirv);
    DumpText(absl::StrCat(module.name, ".spvasm"), [&] { return DisassembleSpirv(module.spirv); });
  }
}

}  // namespace onexpu::compiler
