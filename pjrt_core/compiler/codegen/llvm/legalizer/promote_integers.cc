// Integers of odd widths, computed in the next larger width.
//
// Invariant: the promoted value holds the odd one zero-extended. Operations that may set higher
// bits are masked after, those that look at the sign get a sign-extended copy before.
#include <functional>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/codegen/llvm/legalizer/replaced_instructions.h"
#include "pjrt_core/compiler/codegen/llvm/legalizer/rewrites.h"

namespace onexpu::compiler::legalizer {
namespace {

// 128 bits are the business of ExpandWideIntegers.
bool IsOdd(const llvm::Type* type) {
  return type->isIntegerTy() && !IsLegalWidth(type->getIntegerBitWidth()) &&
         type->getIntegerBitWidth() != 128;
}

unsigned PromotedWidth(unsigned width) {
  for (unsigned legal : {8u, 16u, 32u, 64u, 128u}) {
    if (width <= legal) return legal;
  }
  return 0;
}

class Promotion {
 public:
  explicit Promotion(llvm::Function& function) : function_(function), b_(function.getContext()) {}

  absl::Status Run() {
    std::vector<llvm::Instruction*> found = InstructionsWith(function_, IsOdd);
    for (llvm::Instruction* instruction : found) {
      b_.SetInsertPoint(instruction);
      ONEXPU_RETURN_IF_ERROR(Promote(*instruction));
    }
    for (auto& [phi, promoted] : phis_) {
      for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i) {
        promoted->addIncoming(Get(phi->getIncomingValue(i)), phi->getIncomingBlock(i));
      }
    }
    llvm::erase_if(found,
                   [&](llvm::Instruction* instruction) { return kept_.contains(instruction); });
    EraseReplaced(found);
    return absl::OkStatus();
  }

 private:
  llvm::Type* PromotedType(const llvm::Type* type) {
    return b_.getIntNTy(PromotedWidth(type->getIntegerBitWidth()));
  }

  // The promoted form of a value, or the value itself when it is not odd.
  llvm::Value* Get(llvm::Value* value) {
    if (!IsOdd(value->getType())) return value;
    llvm::Type* type = PromotedType(value->getType());
    if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value)) {
      return llvm::ConstantInt::get(type, constant->getValue().zext(type->getIntegerBitWidth()));
    }
    if (llvm::isa<llvm::UndefValue>(value)) return llvm::ConstantInt::get(type, 0);
    return promoted_.lookup(
        value);  // visited before: except for phis, definitions come first in this order
  }

  llvm::Value* Mask(llvm::Value* value, unsigned width) {
    const unsigned total = value->getType()->getIntegerBitWidth();
    return total == width
               ? value
               : b_.CreateAnd(value, b_.getInt(llvm::APInt::getLowBitsSet(total, width)));
  }

  // A promoted value as the signed number of `width` bits that it stands for.
  llvm::Value* Signed(llvm::Value* value, unsigned width) {
    const unsigned unused = value->getType()->getIntegerBitWidth() - width;
    return unused == 0 ? value : b_.CreateAShr(b_.CreateShl(value, unused), unused);
  }

  absl::Status Binary(llvm::BinaryOperator& operation) {
    const unsigned width = operation.getType()->getIntegerBitWidth();
    llvm::Value* x = Get(operation.getOperand(0));
    llvm::Value* y = Get(operation.getOperand(1));
    llvm::Value* result = nullptr;
    switch (operation.getOpcode()) {
      case llvm::Instruction::Add:
      case llvm::Instruction::Sub:
      case llvm::Instruction::Mul:
      case llvm::Instruction::Shl:
        result = Mask(b_.CreateBinOp(operation.getOpcode(), x, y), width);
        break;
      case llvm::Instruction::And:
      case llvm::Instruction::Or:
      case llvm::Instruction::Xor:
      case llvm::Instruction::LShr:
      case llvm::Instruction::UDiv:
      case llvm::Instruction::URem:
        result = b_.CreateBinOp(operation.getOpcode(), x, y);
        break;
      case llvm::Instruction::AShr:
        result = Mask(b_.CreateAShr(Signed(x, width), y), width);
        break;
      case llvm::Instruction::SDiv:
      case llvm::Instruction::SRem:
        result =
            Mask(b_.CreateBinOp(operation.getOpcode(), Signed(x, width), Signed(y, width)), width);
        break;
      default:
        return Unsupported("an integer of odd width", operation);
    }
    promoted_[&operation] = result;
    return absl::OkStatus();
  }

  absl::Status Cast(llvm::CastInst& cast) {
    llvm::Value* source = cast.getOperand(0);
    llvm::Type* to = cast.getType();
    const bool from_odd = IsOdd(source->getType());
    const unsigned from_width =
        source->getType()->isIntegerTy() ? source->getType()->getIntegerBitWidth() : 0;
    llvm::Type* promoted_to = IsOdd(to) ? PromotedType(to) : to;
    llvm::Value* x = Get(source);
    llvm::Value* result = nullptr;
    switch (cast.getOpcode()) {
      case llvm::Instruction::ZExt:
        result = b_.CreateZExtOrTrunc(x, promoted_to);
        break;
      case llvm::Instruction::SExt:
        result = b_.CreateSExtOrTrunc(from_odd ? Signed(x, from_width) : x, promoted_to);
        break;
      case llvm::Instruction::Trunc:
        result = b_.CreateZExtOrTrunc(x, promoted_to);
        break;
      case llvm::Instruction::UIToFP:
        result = b_.CreateUIToFP(x, to);
        break;
      case llvm::Instruction::SIToFP:
        result = b_.CreateSIToFP(Signed(x, from_width), to);
        break;
      case llvm::Instruction::FPToUI:
        result = b_.CreateFPToUI(x, promoted_to);
        break;
      case llvm::Instruction::FPToSI:
        result = b_.CreateFPToSI(x, promoted_to);
        break;
      default:
        return Unsupported("an integer of odd width", cast);
    }
    if (IsOdd(to)) result = Mask(result, to->getIntegerBitWidth());
    return Finish(cast, result);
  }

  absl::Status Compare(llvm::ICmpInst& compare) {
    const unsigned width = compare.getOperand(0)->getType()->getIntegerBitWidth();
    llvm::Value* x = Get(compare.getOperand(0));
    llvm::Value* y = Get(compare.getOperand(1));
    if (compare.isSigned()) {
      x = Signed(x, width);
      y = Signed(y, width);
    }
    return Finish(compare, b_.CreateICmp(compare.getPredicate(), x, y));
  }

  absl::Status Switch(llvm::SwitchInst& choice) {
    llvm::SwitchInst* promoted =
        b_.CreateSwitch(Get(choice.getCondition()), choice.getDefaultDest(), choice.getNumCases());
    for (auto one : choice.cases()) {
      promoted->addCase(llvm::cast<llvm::ConstantInt>(Get(one.getCaseValue())),
                        one.getCaseSuccessor());
    }
    return absl::OkStatus();  // the old one goes with the rest
  }

  // In memory an odd integer is its bytes, little end first, the unused high bits zero.
  llvm::Value* BytePointer(llvm::Value* pointer, unsigned byte) {
    return byte == 0 ? pointer : b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), pointer, byte);
  }

  absl::Status Load(llvm::LoadInst& load) {
    if (!load.isSimple()) return Unsupported("an integer of odd width", load);
    llvm::Type* type = PromotedType(load.getType());
    llvm::Value* whole = llvm::ConstantInt::get(type, 0);
    for (unsigned byte = 0; byte < (load.getType()->getIntegerBitWidth() + 7) / 8; ++byte) {
      llvm::Value* part = b_.CreateAlignedLoad(
          b_.getInt8Ty(), BytePointer(load.getPointerOperand(), byte), llvm::Align(1));
      whole = b_.CreateOr(whole, b_.CreateShl(b_.CreateZExt(part, type), 8 * byte));
    }
    return Finish(load, Mask(whole, load.getType()->getIntegerBitWidth()));
  }

  absl::Status Store(llvm::StoreInst& store) {
    llvm::Value* value = Get(store.getValueOperand());
    if (!store.isSimple()) return Unsupported("an integer of odd width", store);
    for (unsigned byte = 0;
         byte < (store.getValueOperand()->getType()->getIntegerBitWidth() + 7) / 8; ++byte) {
      b_.CreateAlignedStore(b_.CreateTrunc(b_.CreateLShr(value, 8 * byte), b_.getInt8Ty()),
                            BytePointer(store.getPointerOperand(), byte), llvm::Align(1));
    }
    return absl::OkStatus();
  }

  absl::Status Intrinsic(llvm::IntrinsicInst& call) {
    if (!IsOdd(call.getType()) || call.arg_empty())
      return Unsupported("an integer of odd width", call);
    const unsigned width = call.getType()->getIntegerBitWidth();
    llvm::Value* x = Get(call.getArgOperand(0));
    llvm::Type* type = x->getType();
    const unsigned total = type->getIntegerBitWidth();
    if (total > 64) return Unsupported("an integer of odd width", call);
    llvm::Value* result = nullptr;
    switch (call.getIntrinsicID()) {
      case llvm::Intrinsic::ctpop:
        result = b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, x);
        break;
      case llvm::Intrinsic::ctlz:
        result = b_.CreateSub(b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, x, b_.getFalse()),
                              llvm::ConstantInt::get(type, total - width));
        break;
      case llvm::Intrinsic::cttz: {
        llvm::Value* stopped = b_.CreateOr(x, b_.getInt(llvm::APInt::getOneBitSet(total, width)));
        result = b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, stopped, b_.getFalse());
        break;
      }
      case llvm::Intrinsic::bswap:
        result = b_.CreateLShr(b_.CreateUnaryIntrinsic(call.getIntrinsicID(), x), total - width);
        break;
      default:
        return Unsupported("an integer of odd width", call);
    }
    return Finish(call, result);
  }

  absl::Status Promote(llvm::Instruction& instruction) {
    if (auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(&instruction)) return Binary(*binary);
    if (auto* cast = llvm::dyn_cast<llvm::CastInst>(&instruction)) return Cast(*cast);
    if (auto* compare = llvm::dyn_cast<llvm::ICmpInst>(&instruction)) return Compare(*compare);
    if (auto* choice = llvm::dyn_cast<llvm::SwitchInst>(&instruction)) return Switch(*choice);
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return Load(*load);
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) return Store(*store);
    if (auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction))
      return Intrinsic(*intrinsic);
    if (auto* select = llvm::dyn_cast<llvm::SelectInst>(&instruction)) {
      return Finish(instruction,
                    b_.CreateSelect(select->getCondition(), Get(select->getTrueValue()),
                                    Get(select->getFalseValue())));
    }
    if (llvm::isa<llvm::FreezeInst>(instruction)) {
      llvm::Value* frozen = b_.CreateFreeze(Get(instruction.getOperand(0)));
      return Finish(instruction, Mask(frozen, instruction.getType()->getIntegerBitWidth()));
    }
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction)) {
      llvm::PHINode* promoted =
          b_.CreatePHI(PromotedType(phi->getType()), phi->getNumIncomingValues());
      phis_.push_back({phi, promoted});
      promoted_[phi] = promoted;
      return absl::OkStatus();
    }
    if (llvm::isa<llvm::GetElementPtrInst>(instruction)) {
      for (llvm::Use& operand : instruction.operands()) {
        if (!IsOdd(operand->getType())) continue;
        llvm::Value* index = Signed(Get(operand), operand->getType()->getIntegerBitWidth());
        operand.set(b_.CreateSExtOrTrunc(index, b_.getInt64Ty()));
      }
      kept_.insert(&instruction);
      return absl::OkStatus();
    }
    return Unsupported("an integer of odd width", instruction);
  }

  // `result` stands for `instruction` from here on.
  absl::Status Finish(llvm::Instruction& instruction, llvm::Value* result) {
    if (IsOdd(instruction.getType())) {
      promoted_[&instruction] = result;
    } else {
      instruction.replaceAllUsesWith(result);
    }
    return absl::OkStatus();
  }

  llvm::Function& function_;
  llvm::IRBuilder<> b_;
  llvm::DenseMap<llvm::Value*, llvm::Value*> promoted_;
  llvm::DenseSet<llvm::Instruction*> kept_;
  std::vector<std::pair<llvm::PHINode*, llvm::PHINode*>> phis_;
};

}  // namespace

absl::Status PromoteIntegers(llvm::Function& function) {
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      for (const llvm::Use& operand : instruction.operands()) {
        if (llvm::isa<llvm::ConstantExpr>(operand) && IsOdd(operand->getType())) {
          return Unsupported("a constant expression of odd width", instruction);
        }
        if (llvm::isa<llvm::Argument>(operand) && IsOdd(operand->getType())) {
          return Unsupported("an argument of odd width", instruction);
        }
        if (IsOdd(operand->getType()) &&
            PromotedWidth(operand->getType()->getIntegerBitWidth()) == 0) {
          return Unsupported("an integer of more than 128 bits", instruction);
        }
      }
      if (IsOdd(instruction.getType()) &&
          PromotedWidth(instruction.getType()->getIntegerBitWidth()) == 0) {
        return Unsupported("an integer of more than 128 bits", instruction);
      }
    }
  }
  return Promotion(function).Run();
}

}  // namespace onexpu::compiler::legalizer
