// Factorisations that take a fixed number of steps.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>

#include "pjrt_core/cpu_device/lapack_batch.h"
#include "pjrt_core/cpu_device/lapack_routines.h"

namespace onexpu {
namespace {

int64_t LesserExtent(const ColumnMajorBatch& m) { return std::min(m.rows, m.columns); }

// From these sizes on, all threads factor a matrix faster than one (2 cores, f32; us with 1 thread
// and with 2: geqrf of 256 rows and columns 533 and 435; potrf of 256 117 and 233, of 512 770 and
// 1100; getrf of 256 249 and 284, of 512 1850 and 1750; orgqr of 256 514 and 744, of 512 3700 and
// 3650).
constexpr int64_t kMinThreadedQr = 256;
constexpr int64_t kMinThreadedExtent = 512;

int64_t Products(const ColumnMajorBatch& m) { return m.rows * m.columns * LesserExtent(m); }

template <typename T>
class CholeskyBatch final : public TypedLapackBatch<T> {
 public:
  CholeskyBatch(const ColumnMajorBatch& matrices, bool lower)
      : TypedLapackBatch<T>(matrices), triangle_(LapackTriangle(lower)) {
    this->Plan(
        {.products = Products(matrices) / 3, .is_large = matrices.rows >= kMinThreadedExtent});
  }

 private:
  void RunMatrix(int64_t matrix, const LapackBatch::Memory& memory,
                 char* /*scratch*/) const override {
    const ColumnMajorBatch& m = this->matrices();
    T* const factor = this->CopiedMatrix(memory.operand, memory.result, matrix);
    const LapackInt n = m.rows, leading = m.leading;
    LapackInt info = 0;
    LapackRoutines<T>::potrf(&triangle_, &n, ToLapack(factor), &leading, &info);
    if (info != 0) this->FillWithNan(m, factor);
  }

  const char triangle_;
};

// Which row of A each row of P A is, according to the row exchanges of one matrix.
void ToPermutation(const int32_t* exchanges, int64_t count, int32_t* permutation, int64_t rows) {
  std::iota(permutation, permutation + rows, 0);
  for (int64_t i = 0; i < count; ++i) std::swap(permutation[i], permutation[exchanges[i]]);
}

template <typename T>
class LuBatch final : public TypedLapackBatch<T> {
 public:
  explicit LuBatch(const ColumnMajorBatch& matrices) : TypedLapackBatch<T>(matrices) {
    this->Plan({.products = Products(matrices) / 2,
                .is_large = LesserExtent(matrices) >= kMinThreadedExtent,
                .scratch_bytes = LesserExtent(matrices) * sizeof(LapackInt)});
  }

 private:
  void RunMatrix(int64_t matrix, const LapackBatch::Memory& memory, char* scratch) const override {
    const ColumnMajorBatch& m = this->matrices();
    const int64_t count = LesserExtent(m);
    const LapackInt rows = m.rows, columns = m.columns, leading = m.leading;
    auto* const pivots = ScratchArray<LapackInt>(scratch, 0);
    LapackInt info = 0;
    LapackRoutines<T>::getrf(&rows, &columns,
                             ToLapack(this->CopiedMatrix(memory.operand, memory.result, matrix)),
                             &leading, pivots, &info);
    int32_t* const exchanges = static_cast<int32_t*>(memory.second) + matrix * count;
    for (int64_t i = 0; i < count; ++i) {
      // The library counts from 1. Only NaN gives pivots that are not rows of the matrix.
      const bool is_row = pivots[i] >= 1 && pivots[i] <= rows;
      exchanges[i] = static_cast<int32_t>(is_row ? pivots[i] - 1 : i);
    }
    ToPermutation(exchanges, count, static_cast<int32_t*>(memory.third) + matrix * rows, rows);
  }
};

template <typename T>
class QrBatch final : public TypedLapackBatch<T> {
 public:
  explicit QrBatch(const ColumnMajorBatch& matrices) : TypedLapackBatch<T>(matrices) {
    T answer{};
    Factor(nullptr, nullptr, &answer, /*elements=*/-1);
    elements_ = WorkspaceElements(answer, matrices.columns);
    this->Plan({.products = 2 * Products(matrices),
                .is_large = LesserExtent(matrices) >= kMinThreadedQr,
                .scratch_bytes = elements_ * sizeof(T)});
  }

 private:
  void Factor(T* matrix, T* scalars, T* scratch, LapackInt elements) const {
    const ColumnMajorBatch& m = this->matrices();
    const LapackInt rows = m.rows, columns = m.columns, leading = m.leading;
    LapackInt info = 0;
    LapackRoutines<T>::geqrf(&rows, &columns, ToLapack(matrix), &leading, ToLapack(scalars),
                             ToLapack(scratch), &elements, &info);
  }

  void RunMatrix(int64_t matrix, const LapackBatch::Memory& memory, char* scratch) const override {
    T* const scalars = static_cast<T*>(memory.second) + matrix * LesserExtent(this->matrices());
    Factor(this->CopiedMatrix(memory.operand, memory.result, matrix), scalars,
           ScratchArray<T>(scratch, 0), elements_);
  }

  LapackInt elements_ = 0;  // of scratch
};

template <typename T>
class HouseholderProductBatch final : public TypedLapackBatch<T> {
 public:
  HouseholderProductBatch(const ColumnMajorBatch& matrices, int64_t reflectors)
      : TypedLapackBatch<T>(matrices), reflectors_(reflectors) {
    T answer{};
    Multiply(nullptr, nullptr, &answer, /*elements=*/-1);
    elements_ = WorkspaceElements(answer, matrices.columns);
    this->Plan({.products = 2 * Products(matrices),
                .is_large = LesserExtent(matrices) >= kMinThreadedExtent,
                .scratch_bytes = elements_ * sizeof(T)});
  }

 private:
  void Multiply(T* matrix, const T* scalars, T* scratch, LapackInt elements) const {
    const ColumnMajorBatch& m = this->matrices();
    const LapackInt rows = m.rows, columns = m.columns, leading = m.leading;
    const LapackInt reflectors = reflectors_;
    LapackInt info = 0;
    LapackRoutines<T>::ungqr(&rows, &columns, &reflectors, ToLapack(matrix), &leading,
                             ToLapack(scalars), ToLapack(scratch), &elements, &info);
  }

  void RunMatrix(int64_t matrix, const LapackBatch::Memory& memory, char* scratch) const override {
    Multiply(this->CopiedMatrix(memory.operand, memory.result, matrix),
             static_cast<const T*>(memory.second) + matrix * reflectors_,
             ScratchArray<T>(scratch, 0), elements_);
  }

  const int64_t reflectors_;
  LapackInt elements_ = 0;  // of scratch
};

}  // namespace

std::unique_ptr<const LapackBatch> MakeCholeskyBatch(program::ElementType type,
                                                     const ColumnMajorBatch& matrices, bool lower) {
  return MakeTypedBatch<CholeskyBatch>(type, matrices, lower);
}

std::unique_ptr<const LapackBatch> MakeLuBatch(program::ElementType type,
                                               const ColumnMajorBatch& matrices) {
  return MakeTypedBatch<LuBatch>(type, matrices);
}

std::unique_ptr<const LapackBatch> MakeQrBatch(program::ElementType type,
                                               const ColumnMajorBatch& matrices) {
  return MakeTypedBatch<QrBatch>(type, matrices);
}

std::unique_ptr<const LapackBatch> MakeHouseholderProductBatch(program::ElementType type,
                                                               const ColumnMajorBatch& matrices,
                                                               int64_t reflectors) {
  return MakeTypedBatch<HouseholderProductBatch>(type, matrices, reflectors);
}

}  // namespace onexpu
