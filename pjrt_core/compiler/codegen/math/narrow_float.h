// Floating-point formats of 4 to 16 bits as integer arithmetic: devices know none of them (f16
// apart), and results must be the same on all. Values are exchanged as f32, which holds every one
// of these formats exactly. Pure functions on the caller's builder.
#ifndef PJRT_CORE_COMPILER_CODEGEN_MATH_NARROW_FLOAT_H_
#define PJRT_CORE_COMPILER_CODEGEN_MATH_NARROW_FLOAT_H_

#include "llvm/IR/IRBuilder.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {

bool IsNarrowFloat(xla::PrimitiveType type);

// The format's bits (i8 or i16, the storage type) as f32.
llvm::Value* DecodeNarrowFloat(llvm::Value* bits, xla::PrimitiveType type, bool has_fp16,
                               llvm::IRBuilderBase& b);
// f32 to the format's bits, rounded to nearest even; NaN is kept, what is too large becomes the
// format's infinity (NaN where it has none, its greatest number where it has neither).
llvm::Value* EncodeNarrowFloat(llvm::Value* value, xla::PrimitiveType type, bool has_fp16,
                               llvm::IRBuilderBase& b);
// f32 to the nearest f32 that the format holds: decode(encode(value)), cheaper where possible.
llvm::Value* RoundToNarrowFloat(llvm::Value* value, xla::PrimitiveType type, bool has_fp16,
                                llvm::IRBuilderBase& b);
// f64 to f32 such that rounding the result again, to a format of at most 16 bits, is as good as
// rounding once: what is not exact gets an odd last bit.
llvm::Value* TruncateToOdd(llvm::Value* value, llvm::IRBuilderBase& b);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_MATH_NARROW_FLOAT_H_
