// Eigenvalues and singular values: iterations that may fail to converge.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include "pjrt_core/cpu_device/lapack_batch.h"
#include "pjrt_core/cpu_device/lapack_routines.h"

namespace onexpu {
namespace {

// Multiplications for each of n^3, with all vectors (measured, relative to a QR factorisation).
constexpr int64_t kEighProducts = 10;
constexpr int64_t kSvdProducts = 20;

// From these sizes on, all threads decompose a matrix faster than one (2 cores, f32; ms with 1
// thread and with 2: syevd of 128 rows 0.48 and 0.52, of 256 2.6 and 2.3; gesvd of 256 8.4 and
// 10.2, of 512 55 and 59).
constexpr int64_t kMinThreadedEigh = 256;
constexpr int64_t kMinThreadedSvd = 512;

template <typename T>
class EighBatch final : public TypedLapackBatch<T> {
 public:
  EighBatch(const ColumnMajorBatch& matrices, bool lower)
      : TypedLapackBatch<T>(matrices), triangle_(LapackTriangle(lower)) {
    const int64_t n = matrices.rows;
    Workspace answers{.elements = -1, .reals = -1, .integers = -1};
    T elements{};
    LapackReal<T> reals{};
    LapackInt integers = 0;
    answers.work = &elements;
    answers.real_work = &reals;
    answers.integer_work = &integers;
    Decompose(nullptr, nullptr, answers);
    workspace_.elements =
        WorkspaceElements(elements, kIsLapackComplex<T> ? 2 * n + n * n : 1 + 6 * n + 2 * n * n);
    workspace_.reals = kIsLapackComplex<T> ? WorkspaceElements(reals, 1 + 5 * n + 2 * n * n) : 0;
    workspace_.integers = std::max<LapackInt>(integers, 3 + 5 * n);
    ScratchLayout layout;
    layout.Add<T>(workspace_.elements);
    real_offset_ = layout.Add<LapackReal<T>>(workspace_.reals);
    integer_offset_ = layout.Add<LapackInt>(workspace_.integers);
    this->Plan({.products = kEighProducts * n * n * n,
                .is_large = n >= kMinThreadedEigh,
                .scratch_bytes = layout.bytes});
  }

 private:
  struct Workspace {
    T* work = nullptr;
    LapackReal<T>* real_work = nullptr;  // of complex matrices
    LapackInt* integer_work = nullptr;
    LapackInt elements = 0, reals = 0, integers = 0;
  };

  LapackInt Decompose(T* matrix, LapackReal<T>* values, const Workspace& space) const {
    const LapackInt n = this->matrices().rows, leading = this->matrices().leading;
    LapackInt info = 0;
    if constexpr (kIsLapackComplex<T>) {
      LapackRoutines<T>::evd("V", &triangle_, &n, ToLapack(matrix), &leading, values,
                             ToLapack(space.work), &space.elements, space.real_work, &space.reals,
                             space.integer_work, &space.integers, &info);
    } else {
      LapackRoutines<T>::evd("V", &triangle_, &n, matrix, &leading, values, space.work,
                             &space.elements, space.integer_work, &space.integers, &info);
    }
    return info;
  }

  void RunMatrix(int64_t matrix, const LapackBatch::Memory& memory, char* scratch) const override {
    const ColumnMajorBatch& m = this->matrices();
    T* const vectors = this->CopiedMatrix(memory.operand, memory.result, matrix);
    auto* const values = static_cast<LapackReal<T>*>(memory.second) + matrix * m.rows;
    Workspace workspace = workspace_;
    workspace.work = ScratchArray<T>(scratch, 0);
    workspace.real_work = ScratchArray<LapackReal<T>>(scratch, real_offset_);
    workspace.integer_work = ScratchArray<LapackInt>(scratch, integer_offset_);
    if (Decompose(vectors, values, workspace) == 0) return;
    this->FillWithNan(m, vectors);
    FillArrayWithNan(values, m.rows);
  }

  const char triangle_;
  Workspace workspace_;  // sizes
  size_t real_offset_ = 0;
  size_t integer_offset_ = 0;
};

template <typename T>
class SvdBatch final : public TypedLapackBatch<T> {
 public:
  SvdBatch(const ColumnMajorBatch& matrices, const std::optional<SingularVectors>& vectors)
      : TypedLapackBatch<T>(matrices),
        least_(std::min(matrices.rows, matrices.columns)),
        vectors_(vectors) {
    if (vectors.has_value()) {
      left_job_ = Job(vectors->left);
      right_job_ = Job(vectors->right);
    }
    const int64_t greatest = std::max(matrices.rows, matrices.columns);
    T answer{};
    Decompose(nullptr, nullptr, nullptr, nullptr, &answer, /*elements=*/-1, nullptr);
    elements_ = WorkspaceElements(answer, kIsLapackComplex<T>
                                              ? 2 * least_ + greatest
                                              : std::max(3 * least_ + greatest, 5 * least_));
    ScratchLayout layout;
    layout.Add<T>(matrices.leading * matrices.columns);
    work_offset_ = layout.Add<T>(elements_);
    real_offset_ = layout.Add<LapackReal<T>>(kIsLapackComplex<T> ? 5 * least_ : 0);
    this->Plan({.products = Products(matrices, vectors.has_value()),
                .is_large = least_ >= kMinThreadedSvd,
                .scratch_bytes = layout.bytes});
  }

 private:
  static int64_t Products(const ColumnMajorBatch& m, bool has_vectors) {
    const int64_t products = m.rows * m.columns * std::min(m.rows, m.columns);
    return has_vectors ? kSvdProducts * products : kSvdProducts / 4 * products;
  }

  // A square matrix holds all of the vectors.
  static char Job(const ColumnMajorBatch& vectors) {
    return vectors.rows == vectors.columns ? 'A' : 'S';
  }

  LapackInt Decompose(T* matrix, LapackReal<T>* values, T* left, T* right, T* work,
                      LapackInt elements, LapackReal<T>* real_work) const {
    const ColumnMajorBatch& m = this->matrices();
    const LapackInt rows = m.rows, columns = m.columns, leading = m.leading;
    const LapackInt leading_left = vectors_.has_value() ? vectors_->left.leading : 1;
    const LapackInt leading_right = vectors_.has_value() ? vectors_->right.leading : 1;
    LapackInt info = 0;
    if constexpr (kIsLapackComplex<T>) {
      LapackRoutines<T>::gesvd(&left_job_, &right_job_, &rows, &columns, ToLapack(matrix), &leading,
                               values, ToLapack(left), &leading_left, ToLapack(right),
                               &leading_right, ToLapack(work), &elements, real_work, &info);
    } else {
      LapackRoutines<T>::gesvd(&left_job_, &right_job_, &rows, &columns, matrix, &leading, values,
                               left, &leading_left, right, &leading_right, work, &elements, &info);
    }
    return info;
  }

  void RunMatrix(int64_t matrix, const LapackBatch::Memory& memory, char* scratch) const override {
    auto* const values = static_cast<LapackReal<T>*>(memory.result) + matrix * least_;
    T* const copy = ScratchArray<T>(scratch, 0);
    this->CopyMatrix(memory.operand, matrix, copy);
    T *left = nullptr, *right = nullptr;
    if (vectors_.has_value()) {
      left = static_cast<T*>(memory.second) + matrix * vectors_->left.distance;
      right = static_cast<T*>(memory.third) + matrix * vectors_->right.distance;
    }
    if (Decompose(copy, values, left, right, ScratchArray<T>(scratch, work_offset_), elements_,
                  ScratchArray<LapackReal<T>>(scratch, real_offset_)) == 0) {
      return;
    }
    FillArrayWithNan(values, least_);
    if (!vectors_.has_value()) return;
    this->FillWithNan(vectors_->left, left);
    this->FillWithNan(vectors_->right, right);
  }

  const int64_t least_;  // of rows and columns
  const std::optional<SingularVectors> vectors_;
  char left_job_ = 'N', right_job_ = 'N';
  LapackInt elements_ = 0;  // of the workspace
  size_t work_offset_ = 0;  // in scratch, which begins with a copy of the matrix
  size_t real_offset_ = 0;
};

}  // namespace

std::unique_ptr<const LapackBatch> MakeEighBatch(program::ElementType type,
                                                 const ColumnMajorBatch& matrices, bool lower) {
  return MakeTypedBatch<EighBatch>(type, matrices, lower);
}

std::unique_ptr<const LapackBatch> MakeSvdBatch(program::ElementType type,
                                                const ColumnMajorBatch& matrices,
                                                const std::optional<SingularVectors>& vectors) {
  return MakeTypedBatch<SvdBatch>(type, matrices, vectors);
}

}  // namespace onexpu
