// Scalar mathematics as LLVM IR out of OpenCL built-ins. Values are f32 or f64 (the types of
// `types.h` that arithmetic is done in); accuracy and special values are those of XLA's operations.
// Thread-compatible: works on the caller's builder.
#ifndef PJRT_CORE_COMPILER_CODEGEN_MATH_MATH_EMITTER_H_
#define PJRT_CORE_COMPILER_CODEGEN_MATH_MATH_EMITTER_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "llvm/IR/IRBuilder.h"

namespace onexpu::compiler {

enum class MathFunction {
  kExp,
  kExpm1,
  kLog,
  kLog1p,
  kSqrt,
  kRsqrt,
  kCbrt,
  kSin,
  kCos,
  kTan,
  kTanh,
  kSinh,
  kCosh,
  kAsin,
  kAcos,
  kAsinh,
  kAcosh,
  kAtanh,
  kAtan2,
  kPow,
  kRem,
  kFloor,
  kCeil,
  kRoundNearestAwayFromZero,
  kRoundNearestEven,
  kErf,
  kLogistic,
  kAbs,
  kSign,
  kFma,
};

struct ComplexValue {
  llvm::Value* re = nullptr;
  llvm::Value* im = nullptr;
};

// `operands` are all float or all double. kRem is C's fmod, kFma takes three operands.
// `has_exponential_instruction`: exponentials and logarithms are left to the device's compiler.
absl::StatusOr<llvm::Value*> EmitMath(MathFunction function,
                                      absl::Span<llvm::Value* const> operands,
                                      bool has_exponential_instruction,
                                      llvm::IRBuilderBase& builder);

// The complex functions that XLA has. kAbs gives {|z|, 0}, kAtan2 and kPow take two operands; what
// is only defined on reals (floor, erf, ...) is UNIMPLEMENTED.
absl::StatusOr<ComplexValue> EmitComplexMath(MathFunction function,
                                             absl::Span<const ComplexValue> operands,
                                             llvm::IRBuilderBase& builder);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_MATH_MATH_EMITTER_H_
