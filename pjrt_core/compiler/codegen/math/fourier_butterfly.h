// Discrete Fourier transforms of a few numbers, in straight-line code. Thread-compatible; works on
// the builder of its operands.
#ifndef PJRT_CORE_COMPILER_CODEGEN_MATH_FOURIER_BUTTERFLY_H_
#define PJRT_CORE_COMPILER_CODEGEN_MATH_FOURIER_BUTTERFLY_H_

#include <vector>

#include "absl/types/span.h"
#include "pjrt_core/compiler/codegen/math/complex_math.h"

namespace onexpu::compiler {

// The sums over j of x[j] e^(-2 pi i j k / n), for each k; with e^(+...) when `is_inverse`, without
// a factor. n is a power of two, or odd and small: then it takes n^2 / 2 multiplications.
std::vector<Complex> Butterfly(absl::Span<const Complex> x, bool is_inverse);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_MATH_FOURIER_BUTTERFLY_H_
