// The hyperbolic tangent. Floats are computed here, to 2.4 units in the last place and without a
// branch: a CPU's OpenCL built-in looks its coefficients up in a table, which takes most of the
// time of a small recurrent network, and a GPU's branches. Doubles are left to the built-in.
// Thread-compatible; works on the builder of its operand.
#ifndef PJRT_CORE_COMPILER_CODEGEN_MATH_HYPERBOLIC_H_
#define PJRT_CORE_COMPILER_CODEGEN_MATH_HYPERBOLIC_H_

#include "pjrt_core/compiler/codegen/math/real_value.h"

namespace onexpu::compiler {

Real HyperbolicTangent(const Real& x);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_MATH_HYPERBOLIC_H_
