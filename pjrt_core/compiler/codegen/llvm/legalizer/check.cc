// The last look: what is left and not legal is refused by name.
#include "absl/strings/str_cat.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/codegen/llvm/legalizer/rewrites.h"

namespace onexpu::compiler::legalizer {
namespace {

// Null when the type may stand.
const char* WhatIsWrong(const llvm::Type* type, const LegalizerOptions& options) {
  if (type->isBFloatTy()) return "bfloat arithmetic";
  if (type->isDoubleTy() && !options.has_fp64) return "f64 on a device without it";
  if (type->isFP128Ty() || type->isX86_FP80Ty() || type->isPPC_FP128Ty())
    return "an extended float";
  if (type->isIntegerTy() && !IsLegalWidth(type->getIntegerBitWidth()))
    return "an integer of odd width";
  if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
    const unsigned count = vector->getNumElements();
    if (count > 4 && count != 8 && count != 16) return "a vector length that SPIR-V has not";
    if (count < 2) return "a vector of one element";
    if (vector->getElementType()->isIntegerTy(1)) return "a vector of booleans";
    return WhatIsWrong(vector->getElementType(), options);
  }
  if (type->isVectorTy()) return "a scalable vector";
  if (const auto* structure = llvm::dyn_cast<llvm::StructType>(type)) {
    for (const llvm::Type* element : structure->elements()) {
      if (const char* wrong = WhatIsWrong(element, options)) return wrong;
    }
  }
  if (const auto* array = llvm::dyn_cast<llvm::ArrayType>(type))
    return WhatIsWrong(array->getElementType(), options);
  return nullptr;
}

// Intrinsics that 739 kernels showed to be right; math built-ins are plain calls and need no list.
bool IsKnownIntrinsic(llvm::Intrinsic::ID id) {
  switch (id) {
    case llvm::Intrinsic::abs:
    case llvm::Intrinsic::acos:
    case llvm::Intrinsic::asin:
    case llvm::Intrinsic::atan:
    case llvm::Intrinsic::atan2:
    case llvm::Intrinsic::bitreverse:
    case llvm::Intrinsic::bswap:
    case llvm::Intrinsic::ceil:
    case llvm::Intrinsic::copysign:
    case llvm::Intrinsic::cos:
    case llvm::Intrinsic::cosh:
    case llvm::Intrinsic::ctlz:
    case llvm::Intrinsic::ctpop:
    case llvm::Intrinsic::cttz:
    case llvm::Intrinsic::exp:
    case llvm::Intrinsic::exp2:
    case llvm::Intrinsic::fabs:
    case llvm::Intrinsic::floor:
    case llvm::Intrinsic::fma:
    case llvm::Intrinsic::fshl:
    case llvm::Intrinsic::fshr:
    case llvm::Intrinsic::is_fpclass:
    case llvm::Intrinsic::lifetime_end:
    case llvm::Intrinsic::lifetime_start:
    case llvm::Intrinsic::log:
    case llvm::Intrinsic::log10:
    case llvm::Intrinsic::log2:
    case llvm::Intrinsic::maxnum:
    case llvm::Intrinsic::memcpy:
    case llvm::Intrinsic::memmove:
    case llvm::Intrinsic::memset:
    case llvm::Intrinsic::minnum:
    case llvm::Intrinsic::pow:
    case llvm::Intrinsic::rint:
    case llvm::Intrinsic::nearbyint:
    case llvm::Intrinsic::round:
    case llvm::Intrinsic::roundeven:
    case llvm::Intrinsic::sadd_sat:
    case llvm::Intrinsic::sin:
    case llvm::Intrinsic::sinh:
    case llvm::Intrinsic::smax:
    case llvm::Intrinsic::smin:
    case llvm::Intrinsic::sqrt:
    case llvm::Intrinsic::ssub_sat:
    case llvm::Intrinsic::tan:
    case llvm::Intrinsic::tanh:
    case llvm::Intrinsic::trunc:
    case llvm::Intrinsic::uadd_sat:
    case llvm::Intrinsic::umax:
    case llvm::Intrinsic::umin:
    case llvm::Intrinsic::usub_sat:
      return true;
    default:
      return false;
  }
}

absl::Status CheckInstruction(const llvm::Instruction& instruction,
                              const LegalizerOptions& options) {
  if (const char* wrong = WhatIsWrong(instruction.getType(), options))
    return Unsupported(wrong, instruction);
  for (const llvm::Use& operand : instruction.operands()) {
    if (const char* wrong = WhatIsWrong(operand->getType(), options))
      return Unsupported(wrong, instruction);
  }
  if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) {
    if (!IsKnownIntrinsic(intrinsic->getIntrinsicID()))
      return Unsupported("an intrinsic", instruction);
  }
  if (const auto* allocation = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) {
    if (!allocation->isStaticAlloca())
      return Unsupported("an allocation of variable size", instruction);
  }
  if (llvm::isa<llvm::IndirectBrInst, llvm::InvokeInst, llvm::ResumeInst, llvm::VAArgInst>(
          instruction)) {
    return Unsupported("control flow that SPIR-V has not", instruction);
  }
  if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction);
      phi != nullptr && phi->getType()->isAggregateType()) {
    return Unsupported("a phi of a struct", instruction);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckFunction(const llvm::Function& function, const LegalizerOptions& options) {
  for (const llvm::Argument& argument : function.args()) {
    if (const char* wrong = WhatIsWrong(argument.getType(), options)) {
      return absl::UnimplementedError(absl::StrCat(
          "onexpu: ", wrong, " as an argument of generated function ", function.getName().str()));
    }
  }
  for (const llvm::BasicBlock& block : function) {
    for (const llvm::Instruction& instruction : block) {
      ONEXPU_RETURN_IF_ERROR(CheckInstruction(instruction, options));
    }
  }
  return absl::OkStatus();
}

}  // namespace onexpu::compiler::legalizer
