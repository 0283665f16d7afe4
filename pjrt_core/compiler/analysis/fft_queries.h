// What passes and kernels ask about Fourier transforms. Pure functions.
#ifndef PJRT_CORE_COMPILER_ANALYSIS_FFT_QUERIES_H_
#define PJRT_CORE_COMPILER_ANALYSIS_FFT_QUERIES_H_

#include <cstdint>
#include <vector>

#include "pjrt_core/compiler/target/target.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace onexpu::compiler {

// Lines that neighbouring work-items of a kernel transform: the width of a vector unit.
inline constexpr int64_t kFftLines = 16;

// Numbers that multiply up to `length`, each small enough for one butterfly; powers of two in equal
// parts. Empty when `length` is 1 or has a large prime factor.
std::vector<int64_t> FftRadices(int64_t length);

// Whether `fft`, over any number of dimensions, does best as products with small matrices.
bool IsTinyFft(const xla::HloInstruction& fft);

// Whether the transform along each dimension of `fft` can be a kernel (schedules/fft.cc).
bool HasFftKernels(const xla::HloInstruction& fft, const Target& target);

// Whether `instruction` is a kFft over one dimension that is a kernel.
bool IsFftKernel(const xla::HloInstruction& instruction, const Target& target);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_ANALYSIS_FFT_QUERIES_H_
