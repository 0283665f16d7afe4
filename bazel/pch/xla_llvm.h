// Precompiled for code generation: XLA's headers and LLVM's.
#include "bazel/pch/xla.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
