// Real functions. The complex ones are in complex_math.cc and complex_inverse_math.cc.
#include "pjrt_core/compiler/codegen/math/math_emitter.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Module.h"
#include "pjrt_core/compiler/codegen/math/exponential.h"
#include "pjrt_core/compiler/codegen/math/hyperbolic.h"
#include "pjrt_core/compiler/codegen/math/logarithm.h"
#include "pjrt_core/compiler/codegen/math/real_value.h"
#include "pjrt_core/compiler/codegen/math/trigonometry.h"

namespace onexpu::compiler {
namespace {

struct BuiltinName {
  MathFunction function;
  int operands;
  const char* name;
};

constexpr BuiltinName kBuiltinNames[] = {
    {MathFunction::kExpm1, 1, "expm1"},
    {MathFunction::kLog, 1, "log"},
    {MathFunction::kLog1p, 1, "log1p"},
    {MathFunction::kSqrt, 1, "sqrt"},
    {MathFunction::kRsqrt, 1, "rsqrt"},
    {MathFunction::kCbrt, 1, "cbrt"},
    {MathFunction::kTan, 1, "tan"},
    {MathFunction::kSinh, 1, "sinh"},
    {MathFunction::kCosh, 1, "cosh"},
    {MathFunction::kAsin, 1, "asin"},
    {MathFunction::kAcos, 1, "acos"},
    {MathFunction::kAsinh, 1, "asinh"},
    {MathFunction::kAcosh, 1, "acosh"},
    {MathFunction::kAtanh, 1, "atanh"},
    {MathFunction::kAtan2, 2, "atan2"},
    {MathFunction::kPow, 2, "pow"},
    {MathFunction::kRem, 2, "fmod"},
    {MathFunction::kFloor, 1, "floor"},
    {MathFunction::kCeil, 1, "ceil"},
    {MathFunction::kRoundNearestAwayFromZero, 1, "round"},
    {MathFunction::kRoundNearestEven, 1, "rint"},
    {MathFunction::kErf, 1, "erf"},
    {MathFunction::kAbs, 1, "fabs"},
    {MathFunction::kFma, 3, "fma"},
};

}  // namespace

Real Builtin(absl::string_view name, llvm::ArrayRef<Real> operands) {
  llvm::IRBuilderBase& b = operands[0].b();
  llvm::Type* type = operands[0].value()->getType();
  // OpenCL's names are mangled as C++ would: the length, the name, a letter per operand.
  const std::string mangled = absl::StrCat(
      "_Z", name.size(), name, std::string(operands.size(), type->isDoubleTy() ? 'd' : 'f'));
  llvm::SmallVector<llvm::Type*, 3> types(operands.size(), type);
  llvm::Module* module = b.GetInsertBlock()->getModule();
  llvm::FunctionCallee callee =
      module->getOrInsertFunction(mangled, llvm::FunctionType::get(type, types, false));
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setCallingConv(llvm::CallingConv::SPIR_FUNC);
  function->setDoesNotThrow();
  function->setDoesNotAccessMemory();
  function->addFnAttr(llvm::Attribute::WillReturn);
  function->addFnAttr(llvm::Attribute::NoFree);
  function->addFnAttr(llvm::Attribute::NoSync);
  llvm::SmallVector<llvm::Value*, 3> values;
  for (const Real& operand : operands) values.push_back(operand.value());
  llvm::CallInst* call = b.CreateCall(callee, values);
  call->setCallingConv(llvm::CallingConv::SPIR_FUNC);
  return {call, b};
}

absl::StatusOr<llvm::Value*> EmitMath(MathFunction function,
                                      absl::Span<llvm::Value* const> operands,
                                      bool has_exponential_instruction,
                                      llvm::IRBuilderBase& builder) {
  if (operands.empty() ||
      !(operands[0]->getType()->isFloatTy() || operands[0]->getType()->isDoubleTy())) {
    return absl::InternalError(
        "onexpu: mathematical functions are emitted on float and double only");
  }
  llvm::SmallVector<Real, 3> values;
  for (llvm::Value* operand : operands) values.emplace_back(operand, builder);
  const Real& x = values[0];
  const auto exponential = [&](const Real& x) {
    return has_exponential_instruction ? Builtin("exp", x) : Exponential(x);
  };
  if (function == MathFunction::kSin) return Sine(x).value();
  if (function == MathFunction::kCos) return Cosine(x).value();
  if (function == MathFunction::kExp) return exponential(x).value();
  if (function == MathFunction::kLog1p && !has_exponential_instruction)
    return LogarithmOfOnePlus(x).value();
  if (function == MathFunction::kTanh) return HyperbolicTangent(x).value();
  if (function == MathFunction::kLogistic) return (1.0 / (1.0 + exponential(-x))).value();
  if (function == MathFunction::kSign) {
    // Zeros and NaN are their own signs.
    llvm::Value* nonzero = builder.CreateFCmpONE(x.value(), x.Constant(0).value());
    return Select(nonzero, CopySign(x.Constant(1), x), x).value();
  }
  for (const BuiltinName& entry : kBuiltinNames) {
    if (entry.function != function) continue;
    if (entry.operands != static_cast<int>(operands.size())) {
      return absl::InternalError(absl::StrCat("onexpu: ", entry.name, " takes ", entry.operands,
                                              " operands, not ", operands.size()));
    }
    return Builtin(entry.name, values).value();
  }
  return absl::InternalError(absl::StrCat("onexpu: mathematical function number ",
                                          static_cast<int>(function), " is not in the table"));
}

}  // namespace onexpu::compiler
