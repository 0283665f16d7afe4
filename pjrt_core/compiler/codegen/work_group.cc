#include "pjrt_core/compiler/codegen/work_group.h"

#include "absl/strings/string_view.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Module.h"
#include "pjrt_core/compiler/codegen/spirv_target.h"
#include "pjrt_core/compiler/codegen/types.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

llvm::Function& Declare(FusionContext& kernel, absl::string_view name, llvm::Type* result) {
  auto* type = llvm::FunctionType::get(result, {kernel.b().getInt32Ty()}, false);
  llvm::FunctionCallee callee =
      kernel.module().getOrInsertFunction(llvm::StringRef(name.data(), name.size()), type);
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setCallingConv(llvm::CallingConv::SPIR_FUNC);
  function->setDoesNotThrow();
  function->addFnAttr(llvm::Attribute::WillReturn);
  return *function;
}

llvm::CallInst* Call(FusionContext& kernel, llvm::Function& function, uint32_t argument) {
  llvm::CallInst* call = kernel.b().CreateCall(&function, {kernel.b().getInt32(argument)});
  call->setCallingConv(llvm::CallingConv::SPIR_FUNC);
  return call;
}

llvm::Value* Number(FusionContext& kernel, absl::string_view name) {
  llvm::Function& function = Declare(kernel, name, kernel.b().getInt64Ty());
  function.setDoesNotAccessMemory();
  llvm::CallInst* call = Call(kernel, function, 0);
  kernel.SetBelow(*call, kernel.index_type()->getBitWidth() - 1);
  return call;
}

}  // namespace

llvm::Value* LocalId(FusionContext& kernel) { return Number(kernel, "_Z12get_local_idj"); }

llvm::Value* GroupId(FusionContext& kernel) { return Number(kernel, "_Z12get_group_idj"); }

void Barrier(FusionContext& kernel) {
  constexpr uint32_t kLocalMemory = 1;
  constexpr uint32_t kGlobalMemory = 2;
  llvm::Function& function = Declare(kernel, "_Z7barrierj", kernel.b().getVoidTy());
  function.addFnAttr(llvm::Attribute::Convergent);
  Call(kernel, function, kLocalMemory | kGlobalMemory)->addFnAttr(llvm::Attribute::Convergent);
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
