// Atomic read-modify-write that the target lacks, as a loop of compare-exchange.
#include <vector>

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/LowerAtomic.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/codegen/llvm/atomic_word.h"
#include "pjrt_core/compiler/codegen/llvm/legalizer/rewrites.h"

namespace onexpu::compiler::legalizer {
namespace {

bool IsNative(const llvm::AtomicRMWInst& atomic, const LegalizerOptions& options) {
  const llvm::Type* type = atomic.getType();
  const unsigned bits = type->getPrimitiveSizeInBits();
  switch (atomic.getOperation()) {
    case llvm::AtomicRMWInst::FAdd:
      return bits >= 32 && HasExtension(options, "SPV_EXT_shader_atomic_float_add");
    case llvm::AtomicRMWInst::FMin:
    case llvm::AtomicRMWInst::FMax:
      return bits >= 32 && HasExtension(options, "SPV_EXT_shader_atomic_float_min_max");
    case llvm::AtomicRMWInst::Xchg:
    case llvm::AtomicRMWInst::Add:
    case llvm::AtomicRMWInst::Sub:
    case llvm::AtomicRMWInst::And:
    case llvm::AtomicRMWInst::Or:
    case llvm::AtomicRMWInst::Xor:
    case llvm::AtomicRMWInst::Max:
    case llvm::AtomicRMWInst::Min:
    case llvm::AtomicRMWInst::UMax:
    case llvm::AtomicRMWInst::UMin:
      return bits == 32 || bits == 64;
    default:
      return false;
  }
}

void ExpandToLoop(llvm::AtomicRMWInst& atomic) {
  llvm::LLVMContext& context = atomic.getContext();
  llvm::Type* type = atomic.getType();
  const unsigned bits = type->getPrimitiveSizeInBits();
  llvm::BasicBlock* before = atomic.getParent();
  llvm::BasicBlock* after = llvm::SplitBlock(before, &atomic);
  auto* loop = llvm::BasicBlock::Create(context, "atomic", before->getParent(), after);

  llvm::IRBuilder<> b(before->getTerminator());
  AtomicWord word(b, atomic.getPointerOperand(), bits);
  llvm::Value* first = word.Load();
  before->getTerminator()->setSuccessor(0, loop);

  b.SetInsertPoint(loop);
  llvm::PHINode* seen = b.CreatePHI(word.word_type(), 2);
  seen->addIncoming(first, before);
  llvm::Value* old = b.CreateBitCast(word.Extract(seen), type);
  llvm::Value* updated =
      llvm::buildAtomicRMWValue(atomic.getOperation(), b, old, atomic.getValOperand());
  llvm::Value* desired = word.Replace(seen, b.CreateBitCast(updated, b.getIntNTy(bits)));
  const AtomicWord::Exchange exchange = word.CompareExchange(seen, desired);
  seen->addIncoming(exchange.seen, loop);
  b.CreateCondBr(exchange.done, after, loop);

  atomic.replaceAllUsesWith(old);
  atomic.eraseFromParent();
}

}  // namespace

absl::Status ExpandAtomics(llvm::Function& function, const LegalizerOptions& options) {
  std::vector<llvm::AtomicRMWInst*> found;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
        const unsigned bits = exchange->getCompareOperand()->getType()->getPrimitiveSizeInBits();
        if (bits != 32 && bits != 64)
          return Unsupported("compare-exchange on less than a word", instruction);
      }
      auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction);
      if (atomic == nullptr || IsNative(*atomic, options)) continue;
      const unsigned bits = atomic->getType()->getPrimitiveSizeInBits();
      if (bits != 8 && bits != 16 && bits != 32 && bits != 64) {
        return Unsupported("an atomic operation of this size", instruction);
      }
      found.push_back(atomic);
    }
  }
  for (llvm::AtomicRMWInst* atomic : found) ExpandToLoop(*atomic);
  return absl::OkStatus();
}

}  // namespace onexpu::compiler::legalizer
