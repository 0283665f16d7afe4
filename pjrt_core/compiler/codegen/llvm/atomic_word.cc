#include "pjrt_core/compiler/codegen/llvm/atomic_word.h"

#include "llvm/IR/Instructions.h"

namespace onexpu::compiler {

llvm::SyncScope::ID DeviceScope(llvm::LLVMContext& context) {
  return context.getOrInsertSyncScopeID("device");
}

AtomicWord::AtomicWord(llvm::IRBuilderBase& b, llvm::Value* pointer, unsigned bits)
    : b_(b),
      value_type_(b.getIntNTy(bits)),
      word_type_(b.getIntNTy(bits < 32 ? 32 : bits)),
      pointer_(pointer) {
  if (bits >= 32) return;
  // Allocations begin and end at whole words, so the word around a value is always ours to touch.
  llvm::Value* offset = b.CreateAnd(b.CreatePtrToInt(pointer, b.getInt64Ty()), b.getInt64(3));
  pointer_ = b.CreateGEP(b.getInt8Ty(), pointer, b.CreateNeg(offset));
  shift_ = b.CreateShl(b.CreateTrunc(offset, b.getInt32Ty()), 3);
}

llvm::Value* AtomicWord::Load() {
  llvm::LoadInst* load =
      b_.CreateAlignedLoad(word_type_, pointer_, llvm::Align(word_type_->getBitWidth() / 8));
  load->setAtomic(llvm::AtomicOrdering::Monotonic, DeviceScope(b_.getContext()));
  return load;
}

llvm::Value* AtomicWord::Extract(llvm::Value* word) {
  if (shift_ == nullptr) return word;
  return b_.CreateTrunc(b_.CreateLShr(word, shift_), value_type_);
}

llvm::Value* AtomicWord::Replace(llvm::Value* word, llvm::Value* value) {
  if (shift_ == nullptr) return value;
  const uint64_t ones = (uint64_t{1} << value_type_->getBitWidth()) - 1;
  llvm::Value* mask = b_.CreateShl(llvm::ConstantInt::get(word_type_, ones), shift_);
  llvm::Value* placed = b_.CreateShl(b_.CreateZExt(value, word_type_), shift_);
  return b_.CreateOr(b_.CreateAnd(word, b_.CreateNot(mask)), placed);
}

AtomicWord::Exchange AtomicWord::CompareExchange(llvm::Value* expected, llvm::Value* desired) {
  llvm::Value* pair = b_.CreateAtomicCmpXchg(
      pointer_, expected, desired, llvm::Align(word_type_->getBitWidth() / 8),
      llvm::AtomicOrdering::Monotonic, llvm::AtomicOrdering::Monotonic,
      DeviceScope(b_.getContext()));
  return {b_.CreateExtractValue(pair, 0), b_.CreateExtractValue(pair, 1)};
}

}  // namespace onexpu::compiler
