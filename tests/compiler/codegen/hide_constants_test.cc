// Constants that the legaliser hides from the CPU driver, and those that it leaves.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "pjrt_core/compiler/codegen/llvm/legalizer/legalizer.h"
#include "pjrt_core/compiler/codegen/llvm/llvm_optimizer.h"
#include "pjrt_core/compiler/codegen/llvm/module_to_spirv.h"
#include "pjrt_core/compiler/codegen/llvm/spirv_target.h"

namespace onexpu::compiler {
namespace {

// The text of a module after it was legalised for the CPU driver.
std::string ForCpuDriver(absl::string_view function) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(std::string(function), diagnostic, context);
  EXPECT_NE(module, nullptr) << diagnostic.getMessage().str();
  auto machine = CreateSpirvTargetMachine();
  EXPECT_TRUE(machine.ok());
  module->setTargetTriple((*machine)->getTargetTriple());
  module->setDataLayout((*machine)->createDataLayout());
  EXPECT_TRUE(LegalizeModule(*module, {.is_for_cpu_driver = true}).ok());
  return ToText(*module);
}

TEST(HideConstants, HidesMinuendsIfTheSignMatters) {
  const auto legalized = [](absl::string_view use) {
    return ForCpuDriver(absl::StrCat("define i32 @f(i32 %x) {\n %d = sub i32 0, %x\n %s = ", use,
                                     "\n ret i32 %s\n}"));
  };
  EXPECT_NE(legalized("ashr i32 %d, 31").find("get_global_offset"), std::string::npos);
  EXPECT_EQ(legalized("add i32 %d, 3").find("get_global_offset"), std::string::npos);
}

TEST(HideConstants, HidesShiftsBy32OfLocalIds) {
  const auto legalized = [](absl::string_view body) {
    return ForCpuDriver(absl::StrCat(
        "declare spir_func i64 @_Z12get_local_idj(i32)\n"
        "define i64 @f(i64 %x) {\n %i = call spir_func i64 @_Z12get_local_idj(i32 0)\n",
        body, " ret i64 %r\n}"));
  };
  const auto is_hidden = [&](absl::string_view body) {
    return legalized(body).find("get_global_offset") != std::string::npos;
  };
  EXPECT_TRUE(is_hidden(" %a = shl i64 %i, 30\n %r = ashr i64 %a, 32\n"));
  EXPECT_TRUE(
      is_hidden(" %a = lshr i64 %i, 2\n %t = trunc i64 %a to i32\n %r = sext i32 %t to i64\n"));
  EXPECT_FALSE(is_hidden(" %a = shl i64 %x, 30\n %r = ashr i64 %a, 32\n"));
  EXPECT_FALSE(is_hidden(" %a = shl i64 %i, 30\n %r = ashr i64 %a, 31\n"));
}

}  // namespace
}  // namespace onexpu::compiler
