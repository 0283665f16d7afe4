// What tests of passes share: modules from text, and their results by XLA's evaluator.
#ifndef TESTS_COMPILER_HLO_TEST_UTIL_H_
#define TESTS_COMPILER_HLO_TEST_UTIL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/debug_options_flags.h"
#include "xla/hlo/evaluator/hlo_evaluator.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/literal.h"
#include "xla/service/hlo_module_config.h"

namespace onexpu::compiler {

inline std::unique_ptr<xla::HloModule> ParseModule(absl::string_view text) {
  xla::HloModuleConfig config;
  config.set_debug_options(xla::DefaultDebugOptionsIgnoringFlags());
  auto module = xla::ParseAndReturnUnverifiedModule(text, config);
  if (!module.ok()) ADD_FAILURE() << module.status();
  return module.ok() ? *std::move(module) : nullptr;
}

// The instructions of the entry computation with this opcode, in post order.
inline std::vector<xla::HloInstruction*> Instructions(xla::HloModule& module,
                                                      xla::HloOpcode opcode) {
  std::vector<xla::HloInstruction*> found;
  for (xla::HloInstruction* instruction : module.entry_computation()->MakeInstructionPostOrder()) {
    if (instruction->opcode() == opcode) found.push_back(instruction);
  }
  return found;
}

inline xla::Literal Evaluate(const xla::HloModule& module,
                             const std::vector<const xla::Literal*>& arguments) {
  auto result = xla::HloEvaluator().Evaluate(module, arguments);
  if (!result.ok()) ADD_FAILURE() << result.status();
  return result.ok() ? *std::move(result) : xla::Literal();
}

}  // namespace onexpu::compiler

#endif  // TESTS_COMPILER_HLO_TEST_UTIL_H_
