// The constants of a discrete Fourier transform, rounded once from f64. Pure functions.
#ifndef PJRT_CORE_COMPILER_PASSES_FOURIER_FOURIER_MATRIX_H_
#define PJRT_CORE_COMPILER_PASSES_FOURIER_FOURIER_MATRIX_H_

#include <cstdint>

#include "xla/literal.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {

enum class Part { kCosine, kSine };

// [rows, columns] with cos or sin of 2 pi row column / length.
xla::Literal FourierMatrix(xla::PrimitiveType type, int64_t rows, int64_t columns, int64_t length,
                           Part part);

// [length / 2 + 1, length]: what turns the half spectrum of a real signal into the signal,
// unscaled. The sine part is negated already: signal = re x cosine + im x sine.
xla::Literal RealInverseMatrix(xla::PrimitiveType type, int64_t length, Part part);

// [count] with cos or sin of pi i^2 / length: the chirp of Bluestein's algorithm.
xla::Literal ChirpWave(xla::PrimitiveType type, int64_t length, int64_t count, Part part);

// [padded], a power of two not below 2 length - 1: real part, or negated imaginary part, of the
// forward transform of the conjugate chirp at -(length - 1) to length - 1, divided by `padded`.
xla::Literal ChirpSpectrum(xla::PrimitiveType type, int64_t length, int64_t padded, Part part);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_FOURIER_FOURIER_MATRIX_H_
