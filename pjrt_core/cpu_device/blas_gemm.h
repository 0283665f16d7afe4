// Products of matrices by oneDNN's BLAS, which computes on the thread that calls it and its
// helpers: f32 by f32, and bf16 by bf16 where the processor multiplies bf16 itself. A product whose
// result is bf16 is summed in f32 first, in scratch, and rounded with its epilogue.
// Immutable; thread-safe.
#ifndef PJRT_CORE_CPU_DEVICE_BLAS_GEMM_H_
#define PJRT_CORE_CPU_DEVICE_BLAS_GEMM_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "pjrt_core/cpu_device/bf16_rows.h"
#include "pjrt_core/program/program_generated.h"

namespace onexpu {

class BlasGemm {
 public:
  // Of a product whose addend, if any, has the result's layout. Nothing for other types, strides in
  // both dimensions of a matrix, many small matrices, and epilogues: f32 has none but the scale and
  // the addend, bf16 has a bias of the columns and relu, too. Nor for what a primitive computes
  // sooner on this processor.
  static std::optional<BlasGemm> Create(const program::GemmThunk& gemm);

  // Of memory that one call of Run may write.
  size_t scratch_bytes() const;

  // Of a BlasGemm, for HostCall. `addend` may be `result`, and is not read without one; `bias`
  // likewise. Where the library refuses, which leaves only a lack of memory, the result is NaN.
  static void Run(const void* object, void* lhs, void* rhs, void* addend, void* bias, void* result,
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
  // The distances of a batch's matrices along one of its dimensions, in elements.
  struct BatchDimension {
    int64_t size, lhs, rhs, result;
  };
  // Where a matrix and those that make it begin, in elements from the batch's first.
  struct Offsets {
    int64_t lhs = 0, rhs = 0, result = 0;
  };
  // Of one call, in bytes of memory.
  struct Memory {
    const char* lhs;
    const char* rhs;
    const char* addend;
    const uint16_t* bias;
    char* result;
    float* scratch;
  };

  static std::optional<Operand> ToOperand(const program::Tensor& tensor);
  bool SetTypes(const program::GemmThunk& gemm);
  bool SetBatch(const program::GemmThunk& gemm);
  bool SetEpilogue(const program::GemmThunk& gemm);
  // Computes (lhs x rhs)^T = rhs^T x lhs^T instead.
  void Swap();
  // Has matrices copied first where that is sooner; false where another way is sooner still.
  bool LayApart();
  // Has a matrix copied; false when it is too large for that.
  static bool CopyIfSmall(Operand& operand);
  // `memory`, or the copy of it that `scratch` has then.
  static const float* CopyApart(const Operand& operand, const float* memory, float* scratch);

  bool rounds() const { return result_type_ == program::ElementType::BF16; }
  // Of sums in scratch that have not been rounded yet.
  void SetSumsAtOnce();

  Offsets OffsetsOf(int64_t matrix) const;
  void Compute(const Memory& memory) const;
  void ComputeRounded(const Memory& memory) const;
  void ComputeRoundedMatrix(const Memory& memory, const Offsets& at, float* sums) const;
  void RoundBlock(const Memory& memory, const Offsets& at, const float* sums, int64_t first_row,
                  int64_t rows, int64_t first_column, int64_t columns) const;
  // A block of a product, whose factors' rows and columns begin at `lhs` and `rhs`.
  void Multiply(const void* lhs, const void* rhs, int64_t rows, int64_t columns, float beta,
                float* result, int64_t stride) const;

  program::ElementType operand_type_, result_type_;
  bool swaps_ = false;
  Operand lhs_, rhs_;
  int64_t rows_, columns_, inner_, result_stride_;
  int64_t addend_elements_ = 0;  // of memory, gaps between lines included
  float alpha_, beta_;
  absl::InlinedVector<BatchDimension, 2> batch_;
  int64_t matrices_ = 1;
  Bf16Epilogue epilogue_;  // of results that are rounded
  int64_t rows_at_once_ = 0, columns_at_once_ = 0, matrices_at_once_ = 0;  // of those
};

}  // namespace onexpu

#endif  // PJRT_CORE_CPU_DEVICE_BLAS_GEMM_H_
