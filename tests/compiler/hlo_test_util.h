// What tests of passes share: modules from text, and their results by XLA's evaluator.
#ifndef TESTS_COMPILER_HLO_TEST_UTIL_H_
#define TESTS_COMPILER_HLO_TEST_UTIL_H_

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/debug_options_flags.h"
#include "xla/hlo/evaluator/hlo_evaluator.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/literal.h"
#include "xla/literal_comparison.h"
#include "xla/service/hlo_module_config.h"
#include "xla/shape.h"

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

// In [0.5, 1.5), of which logarithms exist.
inline xla::Literal RandomLiteral(const xla::Shape& shape, int seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(0.5, 1.5);
  xla::Literal literal = xla::Literal::Make(shape).value();
  EXPECT_TRUE(
      literal.Populate<float>([&](absl::Span<const int64_t>) { return uniform(engine); }).ok());
  return literal;
}

// Whether the pass changed the module; either way it computes the same, up to the order of a sum of
// some thousand positive terms.
template <typename Pass>
bool Changes(xla::HloModule& module) {
  std::vector<xla::Literal> arguments;
  for (const auto* parameter : module.entry_computation()->parameter_instructions()) {
    arguments.push_back(RandomLiteral(parameter->shape(), static_cast<int>(arguments.size())));
  }
  std::vector<const xla::Literal*> pointers;
  for (const xla::Literal& argument : arguments) pointers.push_back(&argument);
  const xla::Literal before = Evaluate(module, pointers);
  const auto changed = Pass().Run(&module);
  EXPECT_TRUE(changed.ok()) << changed.status();
  const absl::Status same = xla::literal_comparison::Near(
      before, Evaluate(module, pointers), xla::ErrorSpec(1e-4, 1e-4), /*detailed_message=*/false,
      /*miscompare_callback=*/nullptr);
  EXPECT_TRUE(same.ok()) << same;
  return changed.ok() && *changed;
}

}  // namespace onexpu::compiler

#endif  // TESTS_COMPILER_HLO_TEST_UTIL_H_
