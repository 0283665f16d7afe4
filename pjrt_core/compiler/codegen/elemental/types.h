// HLO element types as LLVM types: how an element lies in memory (storage) and what arithmetic is
// done in (compute).
//
//   HLO                      storage          compute
//   pred                     i8               i1
//   s8..s64, u8..u64         i8..i64          the same
//   s1..s4, u1..u4           i8, upper bits 0 i8, sign- or zero-extended
//   f8*, f4                  i8               float, rounded to the type after every operation
//   bf16                     i16              float, likewise
//   f16                      i16              float, likewise
//   f32, f64                 float, double    the same
//   c64, c128                {T, T}           {T, T}
//
// Pure functions; any thread, one LLVMContext each.
#ifndef PJRT_CORE_COMPILER_CODEGEN_ELEMENTAL_TYPES_H_
#define PJRT_CORE_COMPILER_CODEGEN_ELEMENTAL_TYPES_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "llvm/IR/IRBuilder.h"
#include "pjrt_core/compiler/target/target.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {

// Error: a type that arrays cannot have (tuple, token, opaque) or that the target has not (f64,
// c128 without fp64).
absl::Status CheckElementType(xla::PrimitiveType type, const Target& target);

llvm::Type* StorageType(xla::PrimitiveType type, llvm::LLVMContext& context);
llvm::Type* ComputeType(xla::PrimitiveType type, llvm::LLVMContext& context);

// Bytes that one element takes in device memory: sub-byte types take a whole byte.
int64_t StorageBytes(xla::PrimitiveType type);
int64_t StorageAlignment(xla::PrimitiveType type);

bool IsComplexType(xla::PrimitiveType type);  // narrow floats: see narrow_float.h

// Storage to compute and back; no rounding happens for values that are in compute form.
llvm::Value* FromStorage(llvm::Value* stored, xla::PrimitiveType type, const Target& target,
                         llvm::IRBuilderBase& b);
llvm::Value* ToStorage(llvm::Value* value, xla::PrimitiveType type, const Target& target,
                       llvm::IRBuilderBase& b);

// Brings the result of arithmetic in the compute type back into the HLO type's range: rounds narrow
// floats (to nearest even), wraps sub-byte integers. The identity for every other type.
llvm::Value* Normalize(llvm::Value* value, xla::PrimitiveType type, const Target& target,
                       llvm::IRBuilderBase& b);

// HLO's convert.
absl::StatusOr<llvm::Value*> EmitConvert(llvm::Value* value, xla::PrimitiveType from,
                                         xla::PrimitiveType to, const Target& target,
                                         llvm::IRBuilderBase& b);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_ELEMENTAL_TYPES_H_
