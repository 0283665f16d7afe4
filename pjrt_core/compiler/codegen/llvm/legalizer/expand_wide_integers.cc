// Integers of 128 bits, in two halves of 64. They come from products of 64-bit numbers and from
// closed forms that the optimiser finds for loops.
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/codegen/llvm/legalizer/replaced_instructions.h"
#include "pjrt_core/compiler/codegen/llvm/legalizer/rewrites.h"

namespace onexpu::compiler::legalizer {
namespace {

bool IsWide(const llvm::Type* type) { return type->isIntegerTy(128); }

struct Halves {
  llvm::Value* low = nullptr;
  llvm::Value* high = nullptr;
};

class Expansion {
 public:
  explicit Expansion(llvm::Function& function) : function_(function), b_(function.getContext()) {}

  absl::Status Run() {
    const std::vector<llvm::Instruction*> found = InstructionsWith(function_, IsWide);
    for (llvm::Instruction* instruction : found) {
      b_.SetInsertPoint(instruction);
      ONEXPU_RETURN_IF_ERROR(Expand(*instruction));
    }
    for (llvm::PHINode* phi : phis_) {
      const Halves halves = expanded_[phi];
      for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i) {
        const Halves incoming = Get(phi->getIncomingValue(i));
        llvm::cast<llvm::PHINode>(halves.low)->addIncoming(incoming.low, phi->getIncomingBlock(i));
        llvm::cast<llvm::PHINode>(halves.high)
            ->addIncoming(incoming.high, phi->getIncomingBlock(i));
      }
    }
    EraseReplaced(found);
    return absl::OkStatus();
  }

 private:
  llvm::Value* Word(uint64_t value) { return b_.getInt64(value); }

  Halves Get(llvm::Value* value) {
    if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value)) {
      return {Word(constant->getValue().extractBitsAsZExtValue(64, 0)),
              Word(constant->getValue().extractBitsAsZExtValue(64, 64))};
    }
    if (llvm::isa<llvm::UndefValue>(value)) return {Word(0), Word(0)};
    return expanded_.lookup(value);
  }

  // The high half of the product of two unsigned words.
  llvm::Value* MultiplyHigh(llvm::Value* x, llvm::Value* y) {
    llvm::FunctionType* type =
        llvm::FunctionType::get(b_.getInt64Ty(), {b_.getInt64Ty(), b_.getInt64Ty()}, false);
    llvm::FunctionCallee callee = function_.getParent()->getOrInsertFunction("_Z6mul_himm", type);
    llvm::cast<llvm::Function>(callee.getCallee())->setCallingConv(llvm::CallingConv::SPIR_FUNC);
    llvm::CallInst* call = b_.CreateCall(callee, {x, y});
    call->setCallingConv(llvm::CallingConv::SPIR_FUNC);
    return call;
  }

  Halves Multiply(const Halves& x, const Halves& y) {
    llvm::Value* crossed = b_.CreateAdd(b_.CreateMul(x.low, y.high), b_.CreateMul(x.high, y.low));
    return {b_.CreateMul(x.low, y.low), b_.CreateAdd(MultiplyHigh(x.low, y.low), crossed)};
  }

  Halves Shift(unsigned opcode, const Halves& x, const Halves& by) {
    llvm::Value* amount = by.low;  // 128 and more are poison
    llvm::Value* inner = b_.CreateAnd(amount, Word(63));
    llvm::Value* rest = b_.CreateSub(Word(64), inner);
    llvm::Value* crosses = b_.CreateICmpUGE(amount, Word(64));
    llvm::Value* none = b_.CreateICmpEQ(inner, Word(0));  // then `rest` would be the whole width
    if (opcode == llvm::Instruction::Shl) {
      llvm::Value* carried =
          b_.CreateSelect(none, Word(0), b_.CreateLShr(x.low, b_.CreateAnd(rest, Word(63))));
      llvm::Value* shifted = b_.CreateShl(x.low, inner);
      return {b_.CreateSelect(crosses, Word(0), shifted),
              b_.CreateSelect(crosses, shifted, b_.CreateOr(b_.CreateShl(x.high, inner), carried))};
    }
    const bool arithmetic = opcode == llvm::Instruction::AShr;
    llvm::Value* carried =
        b_.CreateSelect(none, Word(0), b_.CreateShl(x.high, b_.CreateAnd(rest, Word(63))));
    llvm::Value* shifted = arithmetic ? b_.CreateAShr(x.high, inner) : b_.CreateLShr(x.high, inner);
    llvm::Value* fill = arithmetic ? b_.CreateAShr(x.high, 63) : Word(0);
    return {b_.CreateSelect(crosses, shifted, b_.CreateOr(b_.CreateLShr(x.low, inner), carried)),
            b_.CreateSelect(crosses, fill, shifted)};
  }

  absl::Status Binary(llvm::BinaryOperator& operation) {
    const Halves x = Get(operation.getOperand(0));
    const Halves y = Get(operation.getOperand(1));
    switch (const unsigned opcode = operation.getOpcode()) {
      case llvm::Instruction::Add: {
        llvm::Value* low = b_.CreateAdd(x.low, y.low);
        llvm::Value* carry = b_.CreateZExt(b_.CreateICmpULT(low, x.low), b_.getInt64Ty());
        expanded_[&operation] = {low, b_.CreateAdd(b_.CreateAdd(x.high, y.high), carry)};
        return absl::OkStatus();
      }
      case llvm::Instruction::Sub: {
        llvm::Value* borrow = b_.CreateZExt(b_.CreateICmpULT(x.low, y.low), b_.getInt64Ty());
        expanded_[&operation] = {b_.CreateSub(x.low, y.low),
                                 b_.CreateSub(b_.CreateSub(x.high, y.high), borrow)};
        return absl::OkStatus();
      }
      case llvm::Instruction::Mul:
        expanded_[&operation] = Multiply(x, y);
        return absl::OkStatus();
      case llvm::Instruction::And:
      case llvm::Instruction::Or:
      case llvm::Instruction::Xor:
        expanded_[&operation] = {b_.CreateBinOp(operation.getOpcode(), x.low, y.low),
                                 b_.CreateBinOp(operation.getOpcode(), x.high, y.high)};
        return absl::OkStatus();
      case llvm::Instruction::Shl:
      case llvm::Instruction::LShr:
      case llvm::Instruction::AShr:
        expanded_[&operation] = Shift(opcode, x, y);
        return absl::OkStatus();
      default:
        return Unsupported("division of 128-bit integers", operation);
    }
  }

  absl::Status Cast(llvm::CastInst& cast) {
    llvm::Value* source = cast.getOperand(0);
    switch (cast.getOpcode()) {
      case llvm::Instruction::ZExt:
        expanded_[&cast] = {b_.CreateZExt(source, b_.getInt64Ty()), Word(0)};
        return absl::OkStatus();
      case llvm::Instruction::SExt: {
        llvm::Value* low = b_.CreateSExt(source, b_.getInt64Ty());
        expanded_[&cast] = {low, b_.CreateAShr(low, 63)};
        return absl::OkStatus();
      }
      case llvm::Instruction::Trunc:
        cast.replaceAllUsesWith(b_.CreateTrunc(Get(source).low, cast.getType()));
        return absl::OkStatus();
      default:
        return Unsupported("a cast of 128-bit integers", cast);
    }
  }

  absl::Status Compare(llvm::ICmpInst& compare) {
    const Halves x = Get(compare.getOperand(0));
    const Halves y = Get(compare.getOperand(1));
    llvm::Value* high_equal = b_.CreateICmpEQ(x.high, y.high);
    llvm::Value* result = nullptr;
    if (compare.isEquality()) {
      result = b_.CreateAnd(high_equal, b_.CreateICmpEQ(x.low, y.low));
      if (compare.getPredicate() == llvm::ICmpInst::ICMP_NE) result = b_.CreateNot(result);
    } else {
      llvm::Value* by_low = b_.CreateICmp(compare.getUnsignedPredicate(), x.low, y.low);
      result = b_.CreateSelect(high_equal, by_low,
                               b_.CreateICmp(compare.getPredicate(), x.high, y.high));
    }
    compare.replaceAllUsesWith(result);
    return absl::OkStatus();
  }

  absl::Status Expand(llvm::Instruction& instruction) {
    if (auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(&instruction)) return Binary(*binary);
    if (auto* cast = llvm::dyn_cast<llvm::CastInst>(&instruction)) return Cast(*cast);
    if (auto* compare = llvm::dyn_cast<llvm::ICmpInst>(&instruction)) return Compare(*compare);
    if (auto* select = llvm::dyn_cast<llvm::SelectInst>(&instruction)) {
      const Halves x = Get(select->getTrueValue());
      const Halves y = Get(select->getFalseValue());
      expanded_[select] = {b_.CreateSelect(select->getCondition(), x.low, y.low),
                           b_.CreateSelect(select->getCondition(), x.high, y.high)};
      return absl::OkStatus();
    }
    if (llvm::isa<llvm::FreezeInst>(instruction)) {
      const Halves x = Get(instruction.getOperand(0));
      expanded_[&instruction] = {b_.CreateFreeze(x.low), b_.CreateFreeze(x.high)};
      return absl::OkStatus();
    }
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction)) {
      phis_.push_back(phi);
      expanded_[phi] = {b_.CreatePHI(b_.getInt64Ty(), phi->getNumIncomingValues()),
                        b_.CreatePHI(b_.getInt64Ty(), phi->getNumIncomingValues())};
      return absl::OkStatus();
    }
    return Unsupported("a 128-bit integer", instruction);
  }

  llvm::Function& function_;
  llvm::IRBuilder<> b_;
  llvm::DenseMap<llvm::Value*, Halves> expanded_;
  std::vector<llvm::PHINode*> phis_;
};

}  // namespace

absl::Status ExpandWideIntegers(llvm::Function& function) { return Expansion(function).Run(); }

}  // namespace onexpu::compiler::legalizer
