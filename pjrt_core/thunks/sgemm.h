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
  // Nothing for what is no plain product of two matrices, with a scale and an addend of the
  // result's layout: batches, other types, biases, activations, strides in both dimensions. Nor for
  // what a primitive computes sooner on this processor.
  static std::optional<Sgemm> Create(const program::GemmThunk& gemm);

  // Of memory that one call of Run may write.
  size_t scratch_bytes() const;

  // Of an Sgemm, for HostCall. `addend` may be `result`, and is not read without one. Where the
  // library refuses, which leaves only a lack of memory, the result is NaN.
  static void Run(const void* object, void* lhs, void* rhs, void* addend, void* result,
                  void* scratch);

 private:
  // A row-major matrix in memory: itself ('N') or its transpose ('T').
  struct Operand {
    char transposed;
    int64_t stride;
    int64_t lines = 0, line = 0;  // of memory: how many, and the elements of each
    int64_t apart = 0;            // the stride with which scratch takes a copy; 0 for none

    int64_t copied_elements() const { return lines * apart; }
  };
  static std::optional<Operand> ToOperand(const program::Tensor& tensor);
  // Has matrices copied first where that is sooner; false where another way is sooner still.
  bool LayApart();
  // Has a matrix copied; false when it is too large for that.
  static bool LayApart(Operand& operand);
  // `memory`, or the copy of it that `scratch` has then.
  static const float* CopyApart(const Operand& operand, const float* memory, float* scratch);

  bool swaps_ = false;  // (lhs x rhs)^T = rhs^T x lhs^T is computed
  Operand lhs_, rhs_;
  int64_t rows_, columns_, inner_, result_stride_;
  int64_t addend_elements_ = 0;  // of memory, gaps between lines included
  float alpha_, beta_;
};

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_SGEMM_H_
