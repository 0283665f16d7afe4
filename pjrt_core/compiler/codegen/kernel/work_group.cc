#include "pjrt_core/compiler/codegen/kernel/work_group.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Module.h"
#include "pjrt_core/compiler/codegen/elemental/types.h"
#include "pjrt_core/compiler/codegen/llvm/spirv_target.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

llvm::Function& Declare(FusionContext& kernel, absl::string_view name, llvm::Type* result,
                        llvm::ArrayRef<llvm::Type*> parameters) {
  auto* type = llvm::FunctionType::get(result, parameters, false);
  llvm::FunctionCallee callee =
      kernel.module().getOrInsertFunction(llvm::StringRef(name.data(), name.size()), type);
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setCallingConv(llvm::CallingConv::SPIR_FUNC);
  function->setDoesNotThrow();
  function->addFnAttr(llvm::Attribute::WillReturn);
  return *function;
}

llvm::CallInst* Call(FusionContext& kernel, llvm::Function& function,
                     llvm::ArrayRef<llvm::Value*> arguments) {
  llvm::CallInst* call = kernel.b().CreateCall(&function, arguments);
  call->setCallingConv(llvm::CallingConv::SPIR_FUNC);
  if (function.isConvergent()) call->setConvergent();
  return call;
}

llvm::Value* Number(FusionContext& kernel, absl::string_view name) {
  llvm::Type* const dimension = kernel.b().getInt32Ty();
  llvm::Function& function = Declare(kernel, name, kernel.b().getInt64Ty(), {dimension});
  function.setDoesNotAccessMemory();
  llvm::CallInst* call = Call(kernel, function, {kernel.b().getInt32(0)});
  kernel.SetBelow(*call, kernel.index_type()->getBitWidth() - 1);
  return call;
}

}  // namespace

llvm::Value* LocalId(FusionContext& kernel) { return Number(kernel, "_Z12get_local_idj"); }

llvm::Value* GroupId(FusionContext& kernel) { return Number(kernel, "_Z12get_group_idj"); }

void Barrier(FusionContext& kernel) {
  constexpr uint32_t kLocalMemory = 1;
  constexpr uint32_t kGlobalMemory = 2;
  llvm::Type* const flags = kernel.b().getInt32Ty();
  llvm::Function& function = Declare(kernel, "_Z7barrierj", kernel.b().getVoidTy(), {flags});
  function.setConvergent();
  Call(kernel, function, {kernel.b().getInt32(kLocalMemory | kGlobalMemory)});
}

llvm::Value* IsFirstOfSubGroup(FusionContext& kernel) {
  llvm::IRBuilder<>& b = kernel.b();
  llvm::Function& function =
      Declare(kernel, "_Z22get_sub_group_local_idv", b.getInt32Ty(), /*parameters=*/{});
  function.setDoesNotAccessMemory();
  return b.CreateICmpEQ(Call(kernel, function, /*arguments=*/{}), b.getInt32(0));
}

llvm::Value* ShuffleXor(FusionContext& kernel, llvm::Value* value, uint32_t mask) {
  llvm::IRBuilder<>& b = kernel.b();
  llvm::Type* const type = value->getType();
  if (auto* parts = llvm::dyn_cast<llvm::StructType>(type)) {
    llvm::Value* result = llvm::PoisonValue::get(type);
    for (unsigned i = 0; i < parts->getNumElements(); ++i) {
      llvm::Value* part = ShuffleXor(kernel, b.CreateExtractValue(value, i), mask);
      result = b.CreateInsertValue(result, part, i);
    }
    return result;
  }
  const unsigned bits = type->getScalarSizeInBits();
  if (bits < 32) {  // which not every device can
    llvm::Value* word = b.CreateZExt(b.CreateBitCast(value, b.getIntNTy(bits)), b.getInt32Ty());
    return b.CreateBitCast(b.CreateTrunc(ShuffleXor(kernel, word, mask), b.getIntNTy(bits)), type);
  }
  const char* const letter = type->isFloatTy()    ? "f"
                             : type->isDoubleTy() ? "d"
                             : bits == 32         ? "i"
                                                  : "l";
  const std::string name = absl::StrCat("_Z21sub_group_shuffle_xor", letter, "j");
  llvm::Function& function = Declare(kernel, name, type, {type, b.getInt32Ty()});
  function.setDoesNotAccessMemory();
  function.setConvergent();
  return Call(kernel, function, {value, b.getInt32(mask)});
}

Array LocalArray(FusionContext& kernel, xla::PrimitiveType type, int64_t count) {
  llvm::Type* array = llvm::ArrayType::get(StorageType(type, kernel.llvm_context()), count);
  auto* variable = new llvm::GlobalVariable(
      kernel.module(), array, /*isConstant=*/false, llvm::GlobalValue::InternalLinkage,
      llvm::PoisonValue::get(array), kernel.kernel().getName() + "_local", nullptr,
      llvm::GlobalValue::NotThreadLocal, kLocalAddressSpace);
  variable->setAlignment(llvm::Align(64));
  return {xla::ShapeUtil::MakeShape(type, {count}), variable};
}

}  // namespace onexpu::compiler
