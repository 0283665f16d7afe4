// log(1 + x). Floats are computed here for CPUs, to 1.4 units in the last place and without a
// branch or a call: the OpenCL built-in is a function of a library, around which all vectors are
// saved. Its logarithm alone is quicker than one like this. Thread-compatible; works on the builder
// of its operand.
#ifndef PJRT_CORE_COMPILER_CODEGEN_MATH_LOGARITHM_H_
#define PJRT_CORE_COMPILER_CODEGEN_MATH_LOGARITHM_H_

#include "pjrt_core/compiler/codegen/math/real_value.h"

namespace onexpu::compiler {

// Doubles are left to the built-in.
Real LogarithmOfOnePlus(const Real& x);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_MATH_LOGARITHM_H_
