// Rows of f32 sums, rounded to bf16 with what a matmul adds to them. Pure functions.
#ifndef PJRT_CORE_THUNKS_BF16_ROWS_H_
#define PJRT_CORE_THUNKS_BF16_ROWS_H_

#include <cstdint>

#include "pjrt_core/program/program_generated.h"

namespace onexpu {

enum class BiasType : uint8_t { kNone, kF32, kBf16 };

// In this order: the scaled addend, the bias, relu. Sums are f32; the result is rounded once.
struct Bf16Epilogue {
  float beta = 0.f;  // of the addend; 0 for none
  BiasType bias = BiasType::kNone;
  bool relu = false;
};

// `addend` (bf16), `bias` and `result` (bf16) have `count` elements, as `sums` has; where
// `bias_is_one`, the bias is one element for all of them. To nearest even; NaN stays NaN, also
// under relu.
void RoundRow(const Bf16Epilogue& epilogue, const float* sums, const uint16_t* addend,
              const void* bias, bool bias_is_one, int64_t count, uint16_t* result);

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_BF16_ROWS_H_
