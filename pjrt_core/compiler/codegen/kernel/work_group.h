// What work-items of one work-group share: their numbers, local memory and barriers. Used by
// schedules that let several work-items compute one result. Functions on the kernel that is being
// written; thread-compatible.
#ifndef PJRT_CORE_COMPILER_CODEGEN_KERNEL_WORK_GROUP_H_
#define PJRT_CORE_COMPILER_CODEGEN_KERNEL_WORK_GROUP_H_

#include <cstdint>

#include "llvm/IR/IRBuilder.h"
#include "pjrt_core/compiler/codegen/elemental/fusion_context.h"
#include "xla/shape.h"

namespace onexpu::compiler {

// i64, in dimension 0 of OpenCL (the last of SYCL's).
llvm::Value* LocalId(FusionContext& kernel);
llvm::Value* GroupId(FusionContext& kernel);

// Waits for every work-item of the group; all their writes to local and global memory are seen
// after it. To be reached by all of them or by none.
void Barrier(FusionContext& kernel);

// Whether the work-item is the first of its sub-group. Asking LocalId instead counts on a driver
// option: where all that a kernel stores waits for a local id, Intel's CPU driver runs no other
// work-items otherwise, though those that it runs may ask for their values.
llvm::Value* IsFirstOfSubGroup(FusionContext& kernel);
// `value` of the work-item of the sub-group whose number differs in the bits of `mask`. To be
// reached by all work-items of the sub-group.
llvm::Value* ShuffleXor(FusionContext& kernel, llvm::Value* value, uint32_t mask);

// `count` elements of a type in memory that the work-group shares.
Array LocalArray(FusionContext& kernel, xla::PrimitiveType type, int64_t count);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_KERNEL_WORK_GROUP_H_
