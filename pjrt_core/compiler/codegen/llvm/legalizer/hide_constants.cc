// Constants that the CPU driver's compiler (intel-opencl-rt 2026.1.2) must not see, because it
// miscompiles what they are part of (docs/developer/cpu_driver_passes.md).
#include <vector>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "pjrt_core/compiler/codegen/llvm/legalizer/rewrites.h"

namespace onexpu::compiler::legalizer {
namespace {

// A constant less a value, which may overflow.
bool IsConstantLess(const llvm::Instruction& instruction) {
  return instruction.getOpcode() == llvm::Instruction::Sub && !instruction.hasNoSignedWrap() &&
         llvm::isa<llvm::Constant>(instruction.getOperand(0));
}

// Whether the user of a value asks for its sign, or hands it on to one that may.
bool MayTestSign(const llvm::User* user) {
  if (const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(user)) return compare->isSigned();
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(user);
  if (instruction == nullptr) return false;
  switch (instruction->getOpcode()) {
    case llvm::Instruction::AShr:
    case llvm::Instruction::LShr:
    case llvm::Instruction::Freeze:
    case llvm::Instruction::Trunc:
    case llvm::Instruction::SExt:
    case llvm::Instruction::Select:
    case llvm::Instruction::PHI:
    case llvm::Instruction::Xor:
      return true;
    default:
      return false;
  }
}

bool IsWorkItemId(const llvm::Value* value) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(value);
  if (call == nullptr || call->getCalledFunction() == nullptr) return false;
  const llvm::StringRef name = call->getCalledFunction()->getName();
  return name.contains("get_local_id") || name.contains("get_global_id");
}

// Whether `value` is computed from the number of the work-item, other than through memory.
bool FollowsWorkItem(const llvm::Value* value, llvm::SmallPtrSetImpl<const llvm::Value*>& seen) {
  if (IsWorkItemId(value)) return true;
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr || !seen.insert(instruction).second) return false;
  if (llvm::isa<llvm::LoadInst>(instruction)) return false;
  if (llvm::isa<llvm::CallInst>(instruction) && !llvm::isa<llvm::IntrinsicInst>(instruction)) {
    return false;
  }
  return llvm::any_of(instruction->operands(), [&](const llvm::Use& operand) {
    return FollowsWorkItem(operand.get(), seen);
  });
}

bool FollowsWorkItem(const llvm::Value* value) {
  llvm::SmallPtrSet<const llvm::Value*, 16> seen;
  return FollowsWorkItem(value, seen);
}

// Whether the instruction is, or becomes in the driver, an arithmetic shift of 64 bits by 32.
bool IsShiftBy32(const llvm::Instruction& instruction) {
  if (!instruction.getType()->isIntegerTy(64)) return false;
  if (instruction.getOpcode() == llvm::Instruction::AShr) {
    const auto* amount = llvm::dyn_cast<llvm::ConstantInt>(instruction.getOperand(1));
    return amount != nullptr && amount->equalsInt(32);
  }
  const auto* trunc = llvm::isa<llvm::SExtInst>(instruction)
                          ? llvm::dyn_cast<llvm::TruncInst>(instruction.getOperand(0))
                          : nullptr;
  return trunc != nullptr && trunc->getType()->isIntegerTy(32) &&
         trunc->getOperand(0)->getType()->isIntegerTy(64);
}

bool IsBarrier(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  const llvm::Function* const callee = call == nullptr ? nullptr : call->getCalledFunction();
  return callee != nullptr && callee->getName().contains("barrier");
}

// Zero that the driver does not know: the offset of the global range.
class HiddenZero {
 public:
  explicit HiddenZero(llvm::Function& function) : function_(function) {}

  llvm::Value* Get() {
    if (zero_ != nullptr) return zero_;
    llvm::IRBuilder<> b(&*function_.getEntryBlock().getFirstInsertionPt());
    llvm::FunctionCallee offset = function_.getParent()->getOrInsertFunction(
        "_Z17get_global_offsetj", llvm::FunctionType::get(b.getInt64Ty(), {b.getInt32Ty()}, false));
    llvm::cast<llvm::Function>(offset.getCallee())->setCallingConv(llvm::CallingConv::SPIR_FUNC);
    zero_ = b.CreateCall(offset, {b.getInt32(0)});
    zero_->setCallingConv(llvm::CallingConv::SPIR_FUNC);
    return zero_;
  }

 private:
  llvm::Function& function_;
  llvm::CallInst* zero_ = nullptr;
};

void HideMinuend(llvm::Instruction& difference, HiddenZero& zero) {
  llvm::Value* const known = zero.Get();
  llvm::IRBuilder<> b(&difference);
  llvm::Value* hidden = b.CreateTrunc(known, difference.getType()->getScalarType());
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(difference.getType())) {
    hidden = b.CreateVectorSplat(vector->getNumElements(), hidden);
  }
  difference.setOperand(0, b.CreateAdd(hidden, difference.getOperand(0)));
}

void HideShiftBy32(llvm::Instruction& instruction, HiddenZero& zero) {
  llvm::Value* const known = zero.Get();
  llvm::IRBuilder<> b(&instruction);
  llvm::Value* const amount = b.CreateAdd(known, b.getInt64(32));
  if (instruction.getOpcode() == llvm::Instruction::AShr) {
    instruction.setOperand(1, amount);
    return;
  }
  auto* const trunc = llvm::cast<llvm::TruncInst>(instruction.getOperand(0));
  instruction.replaceAllUsesWith(b.CreateAShr(b.CreateShl(trunc->getOperand(0), 32), amount));
  instruction.eraseFromParent();
}

// Flips the sign bit by an operation of integers, whose mask the driver does not know.
void HideNegation(llvm::UnaryOperator& negation, HiddenZero& zero) {
  llvm::Value* const known = zero.Get();
  llvm::IRBuilder<> b(&negation);
  llvm::Type* const type = negation.getType();
  const unsigned bits = type->getScalarSizeInBits();
  llvm::Type* const word = b.getIntNTy(bits);
  llvm::Value* mask =
      b.CreateAdd(b.CreateTrunc(known, word), b.getInt(llvm::APInt::getSignMask(bits)));
  llvm::Type* words = word;
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
    mask = b.CreateVectorSplat(vector->getNumElements(), mask);
    words = mask->getType();
  }
  llvm::Value* const flipped = b.CreateXor(b.CreateBitCast(negation.getOperand(0), words), mask);
  negation.replaceAllUsesWith(b.CreateBitCast(flipped, type));
  negation.eraseFromParent();
}

}  // namespace

void HideConstantsFromCpuDriver(llvm::Function& function) {
  std::vector<llvm::Instruction*> differences, shifts;
  std::vector<llvm::UnaryOperator*> negations;
  bool has_barrier = false;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      if (IsConstantLess(instruction) && llvm::any_of(instruction.users(), MayTestSign)) {
        differences.push_back(&instruction);
      } else if (IsShiftBy32(instruction) && FollowsWorkItem(instruction.getOperand(0))) {
        shifts.push_back(&instruction);
      } else if (instruction.getOpcode() == llvm::Instruction::FNeg) {
        negations.push_back(llvm::cast<llvm::UnaryOperator>(&instruction));
      }
      has_barrier |= IsBarrier(instruction);
    }
  }
  HiddenZero zero(function);
  for (llvm::Instruction* difference : differences) HideMinuend(*difference, zero);
  for (llvm::Instruction* shift : shifts) HideShiftBy32(*shift, zero);
  if (!has_barrier) return;
  for (llvm::UnaryOperator* negation : negations) HideNegation(*negation, zero);
}

}  // namespace onexpu::compiler::legalizer
