// LLVM's SPIR-V target as the code generator uses it, in process: triple, data layout and cost
// model for the optimiser. Emission itself runs in the worker (spirv_worker/). Any thread may call;
// a TargetMachine belongs to one compile.
#ifndef PJRT_CORE_COMPILER_CODEGEN_LLVM_SPIRV_TARGET_H_
#define PJRT_CORE_COMPILER_CODEGEN_LLVM_SPIRV_TARGET_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace onexpu::compiler {

// SPIR-V 1.3: the pointer comparisons of 1.4 are refused by older GPU compilers.
inline constexpr char kSpirvTriple[] = "spirv64v1.3-unknown-unknown";

// OpenCL's address spaces in LLVM's numbering.
inline constexpr unsigned kPrivateAddressSpace = 0;
inline constexpr unsigned kGlobalAddressSpace = 1;
inline constexpr unsigned kConstantAddressSpace = 2;
inline constexpr unsigned kLocalAddressSpace = 3;

absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> CreateSpirvTargetMachine();

// An empty module with the triple and data layout of `machine`.
std::unique_ptr<llvm::Module> CreateSpirvModule(const std::string& name, llvm::LLVMContext& context,
                                                const llvm::TargetMachine& machine);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_LLVM_SPIRV_TARGET_H_
