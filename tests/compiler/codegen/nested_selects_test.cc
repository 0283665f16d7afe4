// Nested selects on floating-point comparisons keep their values, NaN and signed zeros included,
// through the whole optimiser. Every function is evaluated by LLVM's constant folding, as written
// and after optimisation.
#include "pjrt_core/compiler/codegen/llvm/nested_selects.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "pjrt_core/compiler/codegen/llvm/llvm_optimizer.h"
#include "pjrt_core/compiler/codegen/llvm/spirv_target.h"

namespace onexpu::compiler {
namespace {

constexpr const char* kPredicates[] = {"oeq", "ogt", "oge", "olt", "ole", "one", "ord",
                                       "ueq", "ugt", "uge", "ult", "ule", "une", "uno"};

std::unique_ptr<llvm::Module> Parse(const std::string& text, llvm::LLVMContext& context) {
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(text, diagnostic, context);
  EXPECT_NE(module, nullptr) << diagnostic.getMessage().str();
  auto machine = CreateSpirvTargetMachine();
  EXPECT_TRUE(machine.ok());
  module->setTargetTriple((*machine)->getTargetTriple());
  module->setDataLayout((*machine)->createDataLayout());
  return module;
}

// The bits of what `function` returns for `x` and `y`: cloning with constant arguments folds it.
uint64_t Evaluate(llvm::Function& function, float x, float y) {
  llvm::LLVMContext& context = function.getContext();
  llvm::Function* clone = llvm::Function::Create(
      function.getFunctionType(), llvm::Function::InternalLinkage, "clone", function.getParent());
  llvm::ValueToValueMapTy arguments;
  const float values[] = {x, y};
  for (size_t i = 0; i < function.arg_size(); ++i) {
    arguments[function.getArg(i)] =
        llvm::ConstantFP::get(llvm::Type::getFloatTy(context), llvm::APFloat(values[i]));
  }
  llvm::SmallVector<llvm::ReturnInst*, 1> returns;
  llvm::CloneAndPruneFunctionInto(clone, &function, arguments, /*ModuleLevelChanges=*/false,
                                  returns);
  auto* result = llvm::dyn_cast<llvm::ConstantFP>(returns.front()->getReturnValue());
  EXPECT_NE(result, nullptr) << function.getName().str();
  const llvm::APFloat value = result == nullptr ? llvm::APFloat(0.0f) : result->getValueAPF();
  clone->eraseFromParent();
  // NaN payloads are not compared.
  return value.isNaN() ? ~uint64_t{0} : value.bitcastToAPInt().getZExtValue();
}

// Each pair of predicates, each order of arms and of the comparisons' operands.
std::string NestedSelects(const std::string& second_operand) {
  std::string text;
  int number = 0;
  for (const char* inner : kPredicates) {
    for (const char* outer : kPredicates) {
      for (int order = 0; order < 16; ++order) {
        const auto pair = [&](int bit, const std::string& a, const std::string& b) {
          const bool swapped = (order >> bit & 1) != 0;
          return absl::StrCat("float ", swapped ? b : a, ", float ", swapped ? a : b);
        };
        const auto operands = [&](int bit, const std::string& a, const std::string& b) {
          const bool swapped = (order >> bit & 1) != 0;
          return absl::StrCat("float ", swapped ? b : a, ", ", swapped ? a : b);
        };
        absl::StrAppend(&text, "define float @f", number++, "(float %x, float %y) {\n",
                        "  %c = fcmp ", inner, " ", operands(0, "%x", second_operand), "\n",
                        "  %t = select i1 %c, ", pair(1, "%x", second_operand), "\n",
                        "  %d = fcmp ", outer, " ", operands(2, "%t", second_operand), "\n",
                        "  %s = select i1 %d, ", pair(3, "%t", second_operand), "\n",
                        "  ret float %s\n}\n");
      }
    }
  }
  return text;
}

void ExpectSameValues(const std::string& text) {
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::Module> written = Parse(text, context);
  const std::unique_ptr<llvm::Module> optimised = Parse(text, context);
  auto machine = CreateSpirvTargetMachine();
  ASSERT_TRUE(machine.ok());
  ASSERT_TRUE(OptimizeModule(*optimised, **machine).ok());
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float samples[] = {std::nanf(""), -kInfinity, -1.5f, -0.0f, 0.0f, 1.5f, kInfinity};
  std::vector<std::string> names;
  for (const llvm::Function& function : *written) names.push_back(function.getName().str());
  for (const std::string& name : names) {
    for (float x : samples) {
      for (float y : samples) {
        EXPECT_EQ(Evaluate(*written->getFunction(name), x, y),
                  Evaluate(*optimised->getFunction(name), x, y))
            << name << " of " << x << ", " << y;
      }
    }
  }
}

TEST(NestedSelectsTest, KeepsValuesOfVariables) { ExpectSameValues(NestedSelects("%y")); }

TEST(NestedSelectsTest, KeepsValuesOfAConstant) { ExpectSameValues(NestedSelects("1.5")); }

TEST(NestedSelectsTest, KeepsValuesOfZero) { ExpectSameValues(NestedSelects("0.0")); }

TEST(NestedSelectsTest, KeepsTheGuardOfAConversion) {
  ExpectSameValues(R"(
define float @f(float %x, float %y) {
  %c = fcmp olt float %x, 0.0
  %t = select i1 %c, float 0.0, float %x
  %large = fcmp oge float %t, 65536.0
  %small = fcmp ole float %t, 0.0
  %nan = fcmp uno float %t, %t
  %ends = or i1 %large, %small
  %unfit = or i1 %nan, %ends
  %safe = select i1 %unfit, float 0.0, float %t
  %i = fptoui float %safe to i32
  %r = uitofp i32 %i to float
  ret float %r
})");
}

// A chain collapses into one select, so the driver's compiler has no pair to fold.
TEST(NestedSelectsTest, LeavesNoPair) {
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::Module> module = Parse(R"(
define float @f(float %x, float %y) {
  %c = fcmp olt float %x, %y
  %t = select i1 %c, float %y, float %x
  %d = fcmp ogt float %t, %y
  %s = select i1 %d, float %t, float %y
  %e = fcmp ugt float %s, %y
  %u = select i1 %e, float %s, float %y
  ret float %u
})",
                                                     context);
  auto machine = CreateSpirvTargetMachine();
  ASSERT_TRUE(machine.ok());
  ASSERT_TRUE(OptimizeModule(*module, **machine).ok());
  int selects = 0;
  for (const llvm::Instruction& instruction : llvm::instructions(*module->getFunction("f"))) {
    if (instruction.getType()->isFloatTy()) selects += llvm::isa<llvm::SelectInst>(instruction);
  }
  EXPECT_EQ(selects, 1);
}

}  // namespace
}  // namespace onexpu::compiler
