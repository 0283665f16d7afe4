// The exponential function of floats for CPUs, to 1 unit in the last place and without a branch or
// a call: the OpenCL built-in is a function of a library, around which all vectors are saved, and
// takes most of the time of a softmax. Thread-compatible; works on the builder of its operand.
#ifndef PJRT_CORE_COMPILER_CODEGEN_MATH_EXPONENTIAL_H_
#define PJRT_CORE_COMPILER_CODEGEN_MATH_EXPONENTIAL_H_

#include "pjrt_core/compiler/codegen/math/real_value.h"

namespace onexpu::compiler {

// log(2) as two floats; the first times a float's exponent is exact.
inline constexpr double kLog2High = 0.693359375;
inline constexpr double kLog2Low = -2.12194440e-4;

// Floats are computed here, with results below the normal numbers. Doubles are left to the
// built-in.
Real Exponential(const Real& x);

// e^t = 2^n (1 + expm1_r) for a float |t| < 2^21, with r = t - n log(2) in +-log(2)/2.
struct ScaledExponential {
  Real expm1_r;
  llvm::Value* exponent;  // n in the place of a float's exponent, modulo 2^32 (i32)
};
ScaledExponential ScaleExponential(const Real& t);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_MATH_EXPONENTIAL_H_
