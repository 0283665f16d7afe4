// Intrinsics that the back end lacks or gets wrong, as plain instructions and OpenCL built-ins.
#include <vector>

#include "llvm/ADT/APFloat.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "pjrt_core/compiler/codegen/llvm/legalizer/rewrites.h"

namespace onexpu::compiler::legalizer {
namespace {

using llvm::Intrinsic::ID;

llvm::Value* AsInteger(llvm::Value* value, llvm::IRBuilder<>& b) {
  return b.CreateBitCast(value, b.getIntNTy(value->getType()->getPrimitiveSizeInBits()));
}

// min or max with -0 < +0. NaN is the result when either operand is one (`propagate`), else the
// other operand.
llvm::Value* ExpandMinMax(llvm::Value* x, llvm::Value* y, bool is_min, bool propagate,
                          llvm::IRBuilder<>& b) {
  llvm::Value* x_first = is_min ? b.CreateFCmpOLT(x, y) : b.CreateFCmpOGT(x, y);
  llvm::Value* ordered = b.CreateSelect(x_first, x, y);
  llvm::Value* x_bits = AsInteger(x, b);
  llvm::Value* y_bits = AsInteger(y, b);
  // Equal numbers differ in nothing but the sign of zero.
  llvm::Value* equal_bits = is_min ? b.CreateOr(x_bits, y_bits) : b.CreateAnd(x_bits, y_bits);
  llvm::Value* result =
      b.CreateSelect(b.CreateFCmpOEQ(x, y), b.CreateBitCast(equal_bits, x->getType()), ordered);
  if (propagate) return b.CreateSelect(b.CreateFCmpUNO(x, y), b.CreateFAdd(x, y), result);
  result = b.CreateSelect(b.CreateFCmpUNO(x, x), y, result);
  return b.CreateSelect(b.CreateFCmpUNO(y, y), x, result);
}

llvm::Value* ExpandToIntegerSaturating(llvm::Value* x, llvm::IntegerType* type, bool is_signed,
                                       llvm::IRBuilder<>& b) {
  const unsigned width = type->getBitWidth();
  const llvm::APInt low =
      is_signed ? llvm::APInt::getSignedMinValue(width) : llvm::APInt::getMinValue(width);
  const llvm::APInt high =
      is_signed ? llvm::APInt::getSignedMaxValue(width) : llvm::APInt::getMaxValue(width);
  llvm::APFloat low_float(x->getType()->getFltSemantics());
  llvm::APFloat high_float(x->getType()->getFltSemantics());
  low_float.convertFromAPInt(low, is_signed, llvm::APFloat::rmTowardZero);
  high_float.convertFromAPInt(high, is_signed,
                              llvm::APFloat::rmTowardZero);  // the largest that still fits
  llvm::Constant* low_value = llvm::ConstantFP::get(x->getType(), low_float);
  llvm::Constant* high_value = llvm::ConstantFP::get(x->getType(), high_float);
  llvm::Value* converted = is_signed ? b.CreateFPToSI(x, type) : b.CreateFPToUI(x, type);
  llvm::Value* result = b.CreateSelect(b.CreateFCmpOLT(x, low_value), b.getInt(low), converted);
  result = b.CreateSelect(b.CreateFCmpOGT(x, high_value), b.getInt(high), result);
  return b.CreateSelect(b.CreateFCmpUNO(x, x), llvm::ConstantInt::get(type, 0), result);
}

llvm::Value* CallBuiltin(const char* name, llvm::Type* result,
                         llvm::ArrayRef<llvm::Value*> arguments, llvm::IRBuilder<>& b) {
  llvm::SmallVector<llvm::Type*, 2> types;
  for (llvm::Value* argument : arguments) types.push_back(argument->getType());
  llvm::Module* module = b.GetInsertBlock()->getModule();
  llvm::FunctionCallee callee =
      module->getOrInsertFunction(name, llvm::FunctionType::get(result, types, false));
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setCallingConv(llvm::CallingConv::SPIR_FUNC);
  function->setDoesNotThrow();
  llvm::CallInst* call = b.CreateCall(callee, arguments);
  call->setCallingConv(llvm::CallingConv::SPIR_FUNC);
  return call;
}

struct Overflow {
  llvm::Value* value;
  llvm::Value* overflowed;
};

Overflow ExpandMultiplication(llvm::Value* x, llvm::Value* y, bool is_signed,
                              llvm::IRBuilder<>& b) {
  auto* type = llvm::cast<llvm::IntegerType>(x->getType());
  const unsigned width = type->getBitWidth();
  llvm::Value* low = b.CreateMul(x, y);
  if (width == 64) {
    llvm::Value* high = CallBuiltin(is_signed ? "_Z6mul_hill" : "_Z6mul_himm", type, {x, y}, b);
    llvm::Value* expected = is_signed ? b.CreateAShr(low, 63) : llvm::ConstantInt::get(type, 0);
    return {low, b.CreateICmpNE(high, expected)};
  }
  llvm::Type* wide = b.getIntNTy(width <= 32 ? 64 : 128);
  llvm::Value* product = is_signed ? b.CreateMul(b.CreateSExt(x, wide), b.CreateSExt(y, wide))
                                   : b.CreateMul(b.CreateZExt(x, wide), b.CreateZExt(y, wide));
  llvm::Value* expected = is_signed ? b.CreateSExt(low, wide) : b.CreateZExt(low, wide);
  return {low, b.CreateICmpNE(product, expected)};
}

Overflow ExpandOverflow(const llvm::WithOverflowInst& call, llvm::IRBuilder<>& b) {
  llvm::Value* x = call.getLHS();
  llvm::Value* y = call.getRHS();
  llvm::Constant* zero = llvm::ConstantInt::get(x->getType(), 0);
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::uadd_with_overflow: {
      llvm::Value* sum = b.CreateAdd(x, y);
      return {sum, b.CreateICmpULT(sum, x)};
    }
    case llvm::Intrinsic::usub_with_overflow:
      return {b.CreateSub(x, y), b.CreateICmpULT(x, y)};
    case llvm::Intrinsic::sadd_with_overflow: {
      llvm::Value* sum = b.CreateAdd(x, y);
      llvm::Value* signs = b.CreateAnd(b.CreateXor(sum, x), b.CreateXor(sum, y));
      return {sum, b.CreateICmpSLT(signs, zero)};
    }
    case llvm::Intrinsic::ssub_with_overflow: {
      llvm::Value* difference = b.CreateSub(x, y);
      llvm::Value* signs = b.CreateAnd(b.CreateXor(x, y), b.CreateXor(difference, x));
      return {difference, b.CreateICmpSLT(signs, zero)};
    }
    default:
      return ExpandMultiplication(x, y, call.isSigned(), b);
  }
}

void ReplaceOverflow(llvm::WithOverflowInst& call) {
  llvm::IRBuilder<> b(&call);
  const Overflow result = ExpandOverflow(call, b);
  for (llvm::User* user : llvm::make_early_inc_range(call.users())) {
    auto* extract = llvm::dyn_cast<llvm::ExtractValueInst>(user);
    if (extract == nullptr) continue;
    extract->replaceAllUsesWith(extract->getIndices()[0] == 0 ? result.value : result.overflowed);
    extract->eraseFromParent();
  }
  if (!call.use_empty()) {
    llvm::Value* pair =
        b.CreateInsertValue(llvm::PoisonValue::get(call.getType()), result.value, 0);
    call.replaceAllUsesWith(b.CreateInsertValue(pair, result.overflowed, 1));
  }
  call.eraseFromParent();
}

unsigned BitsOf(const llvm::Instruction& instruction) {
  return instruction.getType()->getScalarSizeInBits();
}

// Neighbouring groups of 1, 2, 4, ... bits change places.
llvm::Value* ExpandBitReverse(llvm::Value* x, llvm::IRBuilder<>& b) {
  const unsigned width = x->getType()->getIntegerBitWidth();
  if (!llvm::isPowerOf2_32(width)) {
    const unsigned wider = llvm::NextPowerOf2(width);
    llvm::Value* reversed = ExpandBitReverse(b.CreateZExt(x, b.getIntNTy(wider)), b);
    return b.CreateTrunc(b.CreateLShr(reversed, wider - width), x->getType());
  }
  for (unsigned group = 1; group < width; group *= 2) {
    const llvm::APInt mask =
        llvm::APInt::getSplat(width, llvm::APInt::getLowBitsSet(2 * group, group));
    llvm::Value* up = b.CreateShl(b.CreateAnd(x, b.getInt(mask)), group);
    llvm::Value* down = b.CreateAnd(b.CreateLShr(x, group), b.getInt(mask));
    x = b.CreateOr(up, down);
  }
  return x;
}

// Null when the intrinsic may stay.
llvm::Value* Expand(llvm::IntrinsicInst& call, llvm::IRBuilder<>& b) {
  const auto operand = [&](unsigned i) { return call.getArgOperand(i); };
  llvm::Type* type = call.getType();
  const unsigned width = type->isIntegerTy() ? type->getIntegerBitWidth() : 0;
  const bool odd_integer = width != 0 && !IsLegalWidth(width);
  switch (const ID id = call.getIntrinsicID()) {
    case llvm::Intrinsic::minimum:
    case llvm::Intrinsic::maximum:
      return ExpandMinMax(operand(0), operand(1), id == llvm::Intrinsic::minimum,
                          /*propagate=*/true, b);
    case llvm::Intrinsic::minimumnum:
    case llvm::Intrinsic::maximumnum:
      return ExpandMinMax(operand(0), operand(1), id == llvm::Intrinsic::minimumnum,
                          /*propagate=*/false, b);
    case llvm::Intrinsic::canonicalize:
      return b.CreateFMul(operand(0), llvm::ConstantFP::get(type, 1.0));
    case llvm::Intrinsic::fmuladd:
      return b.CreateFAdd(b.CreateFMul(operand(0), operand(1)), operand(2));
    case llvm::Intrinsic::exp10:
      if (!type->isFloatTy() && !type->isDoubleTy()) return nullptr;
      return CallBuiltin(type->isFloatTy() ? "_Z5exp10f" : "_Z5exp10d", type, {operand(0)}, b);
    case llvm::Intrinsic::fptosi_sat:
    case llvm::Intrinsic::fptoui_sat:
      return ExpandToIntegerSaturating(operand(0), llvm::cast<llvm::IntegerType>(type),
                                       id == llvm::Intrinsic::fptosi_sat, b);
    case llvm::Intrinsic::ucmp:
    case llvm::Intrinsic::scmp: {
      const bool is_signed = id == llvm::Intrinsic::scmp;
      llvm::Value* greater = is_signed ? b.CreateICmpSGT(operand(0), operand(1))
                                       : b.CreateICmpUGT(operand(0), operand(1));
      llvm::Value* less = is_signed ? b.CreateICmpSLT(operand(0), operand(1))
                                    : b.CreateICmpULT(operand(0), operand(1));
      return b.CreateSub(b.CreateZExt(greater, type), b.CreateZExt(less, type));
    }
    default:
      break;
  }
  if (!odd_integer) return nullptr;
  // What the promotion of odd integers knows nothing of.
  switch (const ID id = call.getIntrinsicID()) {
    case llvm::Intrinsic::abs: {
      llvm::Value* negative = b.CreateICmpSLT(operand(0), llvm::ConstantInt::get(type, 0));
      return b.CreateSelect(negative, b.CreateNeg(operand(0)), operand(0));
    }
    case llvm::Intrinsic::smin:
      return b.CreateSelect(b.CreateICmpSLT(operand(0), operand(1)), operand(0), operand(1));
    case llvm::Intrinsic::smax:
      return b.CreateSelect(b.CreateICmpSGT(operand(0), operand(1)), operand(0), operand(1));
    case llvm::Intrinsic::umin:
      return b.CreateSelect(b.CreateICmpULT(operand(0), operand(1)), operand(0), operand(1));
    case llvm::Intrinsic::umax:
      return b.CreateSelect(b.CreateICmpUGT(operand(0), operand(1)), operand(0), operand(1));
    case llvm::Intrinsic::fshl:
    case llvm::Intrinsic::fshr: {
      llvm::Value* amount = b.CreateURem(operand(2), llvm::ConstantInt::get(type, width));
      llvm::Value* rest = b.CreateSub(llvm::ConstantInt::get(type, width), amount);
      const bool left = id == llvm::Intrinsic::fshl;
      llvm::Value* shifted = b.CreateOr(b.CreateShl(operand(0), left ? amount : rest),
                                        b.CreateLShr(operand(1), left ? rest : amount));
      llvm::Value* none = b.CreateICmpEQ(amount, llvm::ConstantInt::get(type, 0));
      return b.CreateSelect(none, operand(left ? 0 : 1),
                            shifted);  // a shift by the whole width is poison
    }
    case llvm::Intrinsic::bitreverse:
      return ExpandBitReverse(operand(0), b);
    case llvm::Intrinsic::usub_sat: {
      llvm::Value* less = b.CreateICmpULT(operand(0), operand(1));
      return b.CreateSelect(less, llvm::ConstantInt::get(type, 0),
                            b.CreateSub(operand(0), operand(1)));
    }
    case llvm::Intrinsic::uadd_sat: {
      llvm::Value* sum = b.CreateAdd(operand(0), operand(1));
      return b.CreateSelect(b.CreateICmpULT(sum, operand(0)), llvm::Constant::getAllOnesValue(type),
                            sum);
    }
    default:
      return nullptr;
  }
}

// sincos gives {sin, cos}.
bool ReplaceSinCos(llvm::IntrinsicInst& call) {
  llvm::Type* type = call.getArgOperand(0)->getType();
  if (!type->isFloatTy() && !type->isDoubleTy()) return false;
  llvm::IRBuilder<> b(&call);
  llvm::Value* sine =
      CallBuiltin(type->isFloatTy() ? "_Z3sinf" : "_Z3sind", type, {call.getArgOperand(0)}, b);
  llvm::Value* cosine =
      CallBuiltin(type->isFloatTy() ? "_Z3cosf" : "_Z3cosd", type, {call.getArgOperand(0)}, b);
  llvm::Value* pair = b.CreateInsertValue(llvm::PoisonValue::get(call.getType()), sine, 0);
  call.replaceAllUsesWith(b.CreateInsertValue(pair, cosine, 1));
  call.eraseFromParent();
  return true;
}

}  // namespace

void ExpandIntrinsics(llvm::Function& function, const LegalizerOptions& options) {
  const bool has_bit_instructions = HasExtension(options, "SPV_KHR_bit_instructions");
  std::vector<llvm::IntrinsicInst*> calls;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) calls.push_back(call);
    }
  }
  for (llvm::IntrinsicInst* call : calls) {
    if (call->getType()->isVectorTy()) continue;
    if (auto* overflow = llvm::dyn_cast<llvm::WithOverflowInst>(call)) {
      ReplaceOverflow(*overflow);
      continue;
    }
    if (call->getIntrinsicID() == llvm::Intrinsic::sincos && ReplaceSinCos(*call)) continue;
    llvm::IRBuilder<> b(call);
    const bool reverses =
        call->getIntrinsicID() == llvm::Intrinsic::bitreverse && IsLegalWidth(BitsOf(*call));
    llvm::Value* expanded = reverses && !has_bit_instructions
                                ? ExpandBitReverse(call->getArgOperand(0), b)
                                : Expand(*call, b);
    if (expanded == nullptr) continue;
    call->replaceAllUsesWith(expanded);
    call->eraseFromParent();
  }
}

}  // namespace onexpu::compiler::legalizer
