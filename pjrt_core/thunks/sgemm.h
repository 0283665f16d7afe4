// A product of two f32 matrices by oneDNN's BLAS, which computes on the thread that calls it and
// its helpers. Immutable; thread-safe.
#ifndef PJRT_CORE_THUNKS_SGEMM_H_
#define PJRT_CORE_THUNKS_SGEMM_H_

#include <cstdint>
#include <optional>

#include "pjrt_core/program/program_generated.h"

namespace onexpu {

class Sgemm {
 public:
  // Nothing for what is no plain product of two matrices, with a scale and an addend that is in the
  // result's memory before it: batches, other types, biases, activations, strides in both
  // dimensions. Nor for what a primitive computes sooner on this processor.
  static std::optional<Sgemm> Create(const program::GemmThunk& gemm);

  // Of an Sgemm, for HostCall. Where the library refuses, which leaves only a lack of memory, the
  // result is NaN.
  static void Run(const void* object, void* lhs, void* rhs, void* result);

 private:
  // A row-major matrix in memory: itself ('N') or its transpose ('T').
  struct Operand {
    char transposed;
    int64_t stride;
  };
  static std::optional<Operand> ToOperand(const program::Tensor& tensor);

  bool swaps_ = false;  // (lhs x rhs)^T = rhs^T x lhs^T is computed
  Operand lhs_, rhs_;
  int64_t rows_, columns_, inner_, result_stride_;
  float alpha_, beta_;
};

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_SGEMM_H_
