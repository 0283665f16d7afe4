// Sine and cosine. Floats are computed here, to 0.85 units in the last place: OpenCL's built-ins
// may be off by four, which differences of neighbouring values (numerical derivatives) magnify.
// Doubles are left to the built-ins. Thread-compatible; works on the builder of its operand, at the
// end of a block, and leaves it at the end of another.
#ifndef PJRT_CORE_COMPILER_CODEGEN_MATH_TRIGONOMETRY_H_
#define PJRT_CORE_COMPILER_CODEGEN_MATH_TRIGONOMETRY_H_

#include "pjrt_core/compiler/codegen/math/real_value.h"

namespace onexpu::compiler {

Real Sine(const Real& x);
Real Cosine(const Real& x);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_MATH_TRIGONOMETRY_H_
