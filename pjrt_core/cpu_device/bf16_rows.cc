#include "pjrt_core/cpu_device/bf16_rows.h"

#include <bit>

// The processor's widest vectors, chosen when the library is loaded.
#define ONEXPU_VECTORS __attribute__((target_clones("avx512f", "avx2", "default")))

namespace onexpu {
namespace {

// -0 and not 0: it leaves what it is added to as it is.
constexpr float kNothing = -0.f;

inline float FromBf16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

inline uint16_t ToBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const uint32_t quiet = (bits >> 16) | 0x40;
  return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
}

// What is the same for a row is the compiler's to take out of the loop. The addend may be in the
// result's place.
template <typename Addend, typename Bias>
[[gnu::always_inline]] inline void Round(const float* sums, bool relu, int64_t count,
                                         uint16_t* result, Addend addend, Bias bias) {
#pragma clang loop vectorize(assume_safety)
  for (int64_t i = 0; i < count; ++i) {
    const float value = sums[i] + addend(i) + bias(i);
    result[i] = ToBf16(relu && value < 0.f ? 0.f : value);
  }
}

template <typename Addend>
[[gnu::always_inline]] inline void Round(const Bf16Epilogue& epilogue, const float* sums,
                                         const uint16_t* bias, int64_t count, uint16_t* result,
                                         Addend addend) {
  if (epilogue.bias == Bias::kOfColumns) {
    Round(sums, epilogue.relu, count, result, addend, [=](int64_t i) { return FromBf16(bias[i]); });
  } else {
    const float one = epilogue.bias == Bias::kOfRow ? FromBf16(*bias) : kNothing;
    Round(sums, epilogue.relu, count, result, addend, [=](int64_t) { return one; });
  }
}

}  // namespace

ONEXPU_VECTORS void RoundRow(const Bf16Epilogue& epilogue, const float* sums,
                             const uint16_t* addend, const uint16_t* bias, int64_t count,
                             uint16_t* result) {
  if (epilogue.beta == 0.f) {
    Round(epilogue, sums, bias, count, result, [](int64_t) { return kNothing; });
  } else {
    const float beta = epilogue.beta;
    Round(epilogue, sums, bias, count, result,
          [=](int64_t i) { return beta * FromBf16(addend[i]); });
  }
}

}  // namespace onexpu
