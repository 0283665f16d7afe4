#include "pjrt_core/compiler/analysis/fft_queries.h"

#include <algorithm>

#include "absl/numeric/bits.h"
#include "pjrt_core/compiler/analysis/hlo_queries.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/util.h"

namespace onexpu::compiler {

std::vector<int64_t> FftRadices(int64_t length) {
  constexpr int kMaxRadixBits = 3;  // eight complex numbers fit the registers of a vector unit
  constexpr int64_t kMaxPrimeFactor = 13;
  if (length < 1) return {};
  std::vector<int64_t> radices;
  const int bits = absl::countr_zero(static_cast<uint64_t>(length));
  length >>= bits;
  const int parts = xla::CeilOfRatio(bits, kMaxRadixBits);
  for (int i = 0; i < parts; ++i) {
    radices.push_back(int64_t{1} << (bits / parts + (i < bits % parts ? 1 : 0)));
  }
  for (int64_t prime = 3; prime <= kMaxPrimeFactor; prime += 2) {
    for (; length % prime == 0; length /= prime) radices.push_back(prime);
  }
  return length == 1 ? radices : std::vector<int64_t>();
}

namespace {

// Of a whole batch; a half spectrum has fewer.
int64_t SignalElements(const xla::HloInstruction& fft) {
  return std::max(xla::ShapeUtil::ElementsIn(fft.shape()),
                  xla::ShapeUtil::ElementsIn(fft.operand(0)->shape()));
}

}  // namespace

bool IsTinyFft(const xla::HloInstruction& fft) {
  // Elements of a whole batch, up to which products with matrices win. Microseconds on the CPU
  // device with 2 cores, against the library's: rfft of 64 elements 23 : 40, of 256 75 : 50.
  constexpr int64_t kMaxMatrixElements = 128;
  // A transform keeps a loop from being one kernel.
  constexpr int64_t kMaxMatrixElementsInLoop = 512;
  return SignalElements(fft) <=
         (IsInLoop(*fft.parent()) ? kMaxMatrixElementsInLoop : kMaxMatrixElements);
}

bool HasFftKernels(const xla::HloInstruction& fft, const Target& target) {
  // Neighbouring work-items transform neighbouring lines: a CPU's vector unit wants some.
  constexpr int64_t kMinLines = 8;
  if (!target.schedules->has_fft_kernels) return false;
  const xla::PrimitiveType type = fft.shape().element_type();
  const bool is_single = type == xla::F32 || type == xla::C64;
  if (!is_single && !target.has_fp64) return false;
  // A line and its neighbours lie in local memory. Of longer lines that are powers of two, the
  // neighbours' elements meet in one set of the cache: 64 of 1024 take three times the library's.
  const int64_t element = 2 * (is_single ? sizeof(float) : sizeof(double));
  const int64_t longest = std::min<int64_t>(256, target.local_memory_bytes / (kFftLines * element));
  for (const int64_t length : fft.fft_length()) {
    if (SignalElements(fft) < kMinLines * length || length > longest || FftRadices(length).empty())
      return false;
  }
  return true;
}

bool IsFftKernel(const xla::HloInstruction& instruction, const Target& target) {
  return instruction.opcode() == xla::HloOpcode::kFft && instruction.fft_length().size() == 1 &&
         !IsTinyFft(instruction) && HasFftKernels(instruction, target);
}

}  // namespace onexpu::compiler
