// Rows of f32 sums, rounded to bf16 with what a matmul adds to them. Pure functions.
#ifndef PJRT_CORE_CPU_DEVICE_BF16_ROWS_H_
#define PJRT_CORE_CPU_DEVICE_BF16_ROWS_H_

#include <cstdint>

namespace onexpu {

enum class Bias : uint8_t { kNone, kOfColumns, kOfRow };

// In this order: the scaled addend, the bias, relu. Sums are f32; the result is rounded once.
struct Bf16Epilogue {
  float beta = 0.f;  // of the addend; 0 for none
  Bias bias = Bias::kNone;
  bool relu = false;
};

// `addend` and `result`, in bf16, have `count` elements, as `sums` has; so has `bias`, in bf16, or
// one for all of them (kOfRow). To nearest even; NaN stays NaN, also under relu.
void RoundRow(const Bf16Epilogue& epilogue, const float* sums, const uint16_t* addend,
              const uint16_t* bias, int64_t count, uint16_t* result);

}  // namespace onexpu

#endif  // PJRT_CORE_CPU_DEVICE_BF16_ROWS_H_
