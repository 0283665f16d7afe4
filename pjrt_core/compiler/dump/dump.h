// The files that --xla_dump_to asks for: module_NNNN.<name>.<what>. Does nothing when the module's
// options name no directory. Borrows the module; thread-compatible.
#ifndef PJRT_CORE_COMPILER_DUMP_DUMP_H_
#define PJRT_CORE_COMPILER_DUMP_DUMP_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "pjrt_core/compiler/codegen/kernel_codegen.h"
#include "xla/hlo/ir/hlo_module.h"

namespace onexpu::compiler {

class ModuleDumper {
 public:
  explicit ModuleDumper(const xla::HloModule& module);

  bool enabled() const { return enabled_; }
  void DumpModule(absl::string_view stage) const;
  // The text is only made when it is wanted.
  void DumpText(absl::string_view suffix, absl::FunctionRef<std::string()> text) const;
  // ir-no-opt.ll, ir-with-opt.ll; of each SPIR-V module NAME.spv and NAME.spvasm.
  void DumpKernels(absl::Span<const CompiledModule> modules) const;

 private:
  const xla::HloModule& module_;
  bool enabled_;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_DUMP_DUMP_H_
