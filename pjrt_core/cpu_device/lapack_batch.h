// Factorisations and triangular solves of batches of matrices by oneMKL's LAPACK and BLAS for the
// host, as functions for HostCall. oneMKL's SYCL routines on the CPU device call the same code in
// host tasks, which have to be waited for (library_order.h): 40 us and more for each.
//
// A batch is divided among the device's threads, and each matrix is computed by one thread. A few
// large matrices are computed one after another, each by all of oneMKL's threads.
// Immutable after creation; thread-safe, with separate memory and scratch for each run.
#ifndef PJRT_CORE_CPU_DEVICE_LAPACK_BATCH_H_
#define PJRT_CORE_CPU_DEVICE_LAPACK_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "pjrt_core/program/program_generated.h"

namespace onexpu {

// Matrices with contiguous columns. Distances are in elements.
struct ColumnMajorBatch {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t leading = 1;   // from one column to the next
  int64_t distance = 0;  // from one matrix to the next
  int64_t count = 1;
};

class LapackBatch {
 public:
  virtual ~LapackBatch() = default;

  // Memory that one call of Run may write.
  size_t scratch_bytes() const { return parts_ * part_scratch_bytes_; }

  // Of a LapackBatch, for HostCall. `operand` is first copied to `result` unless both are the same
  // memory. The functions below say what the others are; `unused` is ignored.
  static void Run(const void* object, void* operand, void* result, void* second, void* third,
                  void* unused, void* scratch);

 protected:
  // The arguments of Run.
  struct Memory {
    const void* operand;
    void* result;
    void* second;
    void* third;
  };

  explicit LapackBatch(int64_t count) : count_(count) {}

  // The cost of one matrix.
  struct Cost {
    int64_t products;  // estimated multiplications
    bool is_large;     // all threads compute one matrix faster than one thread
    size_t scratch_bytes = 0;
  };
  // Divides the batch. Call at the end of the construction.
  void Plan(const Cost& cost);

  virtual void RunMatrix(int64_t matrix, const Memory& memory, char* scratch) const = 0;

 private:
  void RunPart(int64_t part, const Memory& memory, char* scratch) const;

  const int64_t count_;
  bool uses_library_threads_ = false;
  int64_t parts_ = 1;  // of the batch, each computed by one thread
  size_t part_scratch_bytes_ = 0;
};

// The functions below return null for element types other than F32, F64, C64 and C128. Batches have
// elements.

// potrf. A matrix that is not positive definite becomes NaN.
std::unique_ptr<const LapackBatch> MakeCholeskyBatch(program::ElementType type,
                                                     const ColumnMajorBatch& matrices, bool lower);

// getrf. `second` receives the row exchanges and `third` the permutation of the rows that they
// make, both int32_t and counted from 0. A singular matrix is not a failure.
std::unique_ptr<const LapackBatch> MakeLuBatch(program::ElementType type,
                                               const ColumnMajorBatch& matrices);

// geqrf. `second` receives the scalar factors of the reflectors.
std::unique_ptr<const LapackBatch> MakeQrBatch(program::ElementType type,
                                               const ColumnMajorBatch& matrices);

// orgqr or ungqr. `second` has the scalar factors of `reflectors` reflectors for each matrix.
std::unique_ptr<const LapackBatch> MakeHouseholderProductBatch(program::ElementType type,
                                                               const ColumnMajorBatch& matrices,
                                                               int64_t reflectors);

// syevd or heevd. `result` receives the vectors, `second` the values. If the iteration does not
// converge, both are NaN.
std::unique_ptr<const LapackBatch> MakeEighBatch(program::ElementType type,
                                                 const ColumnMajorBatch& matrices, bool lower);

// gesdd, or gesvd for small matrices, without vectors, and where gesdd fails. `result` receives the
// values, `second` U, and `third` V, transposed and conjugated; the operand is not written. Without
// vectors, the last two are ignored. If the iteration does not converge, all are NaN.
struct SingularVectors {
  ColumnMajorBatch left;
  ColumnMajorBatch right;
};
std::unique_ptr<const LapackBatch> MakeSvdBatch(program::ElementType type,
                                                const ColumnMajorBatch& matrices,
                                                const std::optional<SingularVectors>& vectors);

// trsm. Solves op(A) X = B or X op(A) = B. `operand` is B, `result` X, and `second` A.
struct TriangularEquation {
  bool left_side = true;
  bool lower = true;
  bool unit_diagonal = false;
  bool transposed = false;
  bool conjugated = false;  // and transposed
  ColumnMajorBatch b;
  int64_t leading_a = 1;
  int64_t distance_a = 0;
};
std::unique_ptr<const LapackBatch> MakeTriangularSolveBatch(program::ElementType type,
                                                            const TriangularEquation& equation);

}  // namespace onexpu

#endif  // PJRT_CORE_CPU_DEVICE_LAPACK_BATCH_H_
