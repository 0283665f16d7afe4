// Compare-exchange on a value of any size up to 64 bits in global memory: on the value itself when
// it has 32 or 64 bits, else on the aligned 32-bit word around it. Thread-compatible; works on the
// caller's builder.
//
//   AtomicWord word(b, pointer, bits);
//   seen = word.Load();
//   do { desired = word.Replace(seen, f(word.Extract(seen))); {seen, done} =
//   word.CompareExchange(seen, desired); } while (!done);
#ifndef PJRT_CORE_COMPILER_CODEGEN_LLVM_ATOMIC_WORD_H_
#define PJRT_CORE_COMPILER_CODEGEN_LLVM_ATOMIC_WORD_H_

#include "llvm/IR/IRBuilder.h"

namespace onexpu::compiler {

class AtomicWord {
 public:
  struct Exchange {
    llvm::Value* seen;  // the word as it was found
    llvm::Value* done;  // i1: it was as expected, and is replaced
  };

  // `pointer` points to a value of `bits` bits (8, 16, 32 or 64), naturally aligned.
  AtomicWord(llvm::IRBuilderBase& b, llvm::Value* pointer, unsigned bits);

  llvm::IntegerType* word_type() const { return word_type_; }

  llvm::Value* Load();
  llvm::Value* Extract(llvm::Value* word);  // the value's bits, iN
  llvm::Value* Replace(llvm::Value* word, llvm::Value* value);
  Exchange CompareExchange(llvm::Value* expected, llvm::Value* desired);

 private:
  llvm::IRBuilderBase& b_;
  llvm::IntegerType* value_type_;
  llvm::IntegerType* word_type_;
  llvm::Value* pointer_;          // of the word
  llvm::Value* shift_ = nullptr;  // the value's place in the word, null when it is the word
};

// The scope of atomics that work-items of one launch share.
llvm::SyncScope::ID DeviceScope(llvm::LLVMContext& context);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_LLVM_ATOMIC_WORD_H_
