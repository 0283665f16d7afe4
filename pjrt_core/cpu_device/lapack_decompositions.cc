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

// From this size on, with vectors, gesdd is faster than gesvd (1 thread, f32; us: 32 rows and
// columns 62 and 61, 64 195 and 438, 128 890 and 2130, 256 4460 and 16400).
constexpr int64_t kMinDividedSvd = 48;

template <typename T>
class SvdBatch final : public TypedLapackBatch<T> {
 public:
  SvdBatch(const ColumnMajorBatch& matrices, const std::optional<SingularVectors>& vectors)
      : TypedLapackBatch<T>(matrices),
        least_(std::min(matrices.rows, matrices.columns)),
        greatest_(std::max(matrices.rows, matrices.columns)),
        vectors_(vectors),
        divides_(vectors.has_value() && least_ >= kMinDividedSvd) {
    if (vectors.has_value()) {
      left_job_ = Job(vectors->left);
      right_job_ = Job(vectors->right);
    }
    ScratchLayout layout;
    layout.Add<T>(matrices.leading * matrices.columns);
    AddWorkspace(layout);
    this->Plan({.products = Products(matrices, vectors.has_value()),
                .is_large = least_ >= kMinThreadedSvd,
                .scratch_bytes = layout.bytes});
  }

 private:
  using Real = LapackReal<T>;
  struct Results {
    Real* values = nullptr;
    T* left = nullptr;
    T* right = nullptr;
  };
  struct Workspace {
    T* work = nullptr;
    LapackInt elements = -1;  // of work; -1 asks for their number
    Real* real_work = nullptr;
    LapackInt* integer_work = nullptr;
  };

  static int64_t Products(const ColumnMajorBatch& m, bool has_vectors) {
    const int64_t products = m.rows * m.columns * std::min(m.rows, m.columns);
    return has_vectors ? kSvdProducts * products : kSvdProducts / 4 * products;
  }

  // A square matrix holds all of the vectors.
  static char Job(const ColumnMajorBatch& vectors) {
    return vectors.rows == vectors.columns ? 'A' : 'S';
  }

  // For both routines.
  void AddWorkspace(ScratchLayout& layout) {
    const int64_t n = least_;
    T answer{};
    Iterate(nullptr, {}, {.work = &answer});
    elements_ = WorkspaceElements(
        answer, kIsLapackComplex<T> ? 2 * n + greatest_ : std::max(3 * n + greatest_, 5 * n));
    int64_t reals = kIsLapackComplex<T> ? 5 * n : 0;
    if (divides_) {
      Divide(nullptr, {}, {.work = &answer});
      const LapackInt divided = WorkspaceElements(
          answer, kIsLapackComplex<T> ? 2 * n * n + 2 * n + greatest_ : 4 * n * n + 7 * n);
      elements_ = std::max(elements_, divided);
      if (kIsLapackComplex<T>) {
        reals = std::max({reals, 5 * n * n + 5 * n, 2 * greatest_ * n + 2 * n * n + n});
      }
    }
    work_offset_ = layout.Add<T>(elements_);
    real_offset_ = layout.Add<Real>(reals);
    integer_offset_ = layout.Add<LapackInt>(divides_ ? 8 * n : 0);
  }

  // QR iteration.
  LapackInt Iterate(T* matrix, const Results& results, const Workspace& space) const {
    const ColumnMajorBatch& m = this->matrices();
    const LapackInt rows = m.rows, columns = m.columns, leading = m.leading;
    const LapackInt leading_left = vectors_.has_value() ? vectors_->left.leading : 1;
    const LapackInt leading_right = vectors_.has_value() ? vectors_->right.leading : 1;
    LapackInt info = 0;
    if constexpr (kIsLapackComplex<T>) {
      LapackRoutines<T>::gesvd(&left_job_, &right_job_, &rows, &columns, ToLapack(matrix), &leading,
                               results.values, ToLapack(results.left), &leading_left,
                               ToLapack(results.right), &leading_right, ToLapack(space.work),
                               &space.elements, space.real_work, &info);
    } else {
      LapackRoutines<T>::gesvd(&left_job_, &right_job_, &rows, &columns, matrix, &leading,
                               results.values, results.left, &leading_left, results.right,
                               &leading_right, space.work, &space.elements, &info);
    }
    return info;
  }

  // Divide and conquer.
  LapackInt Divide(T* matrix, const Results& results, const Workspace& space) const {
    const ColumnMajorBatch& m = this->matrices();
    const LapackInt rows = m.rows, columns = m.columns, leading = m.leading;
    const LapackInt leading_left = vectors_->left.leading;
    const LapackInt leading_right = vectors_->right.leading;
    const char job = left_job_ == 'A' && right_job_ == 'A' ? 'A' : 'S';
    LapackInt info = 0;
    if constexpr (kIsLapackComplex<T>) {
      LapackRoutines<T>::gesdd(&job, &rows, &columns, ToLapack(matrix), &leading, results.values,
                               ToLapack(results.left), &leading_left, ToLapack(results.right),
                               &leading_right, ToLapack(space.work), &space.elements,
                               space.real_work, space.integer_work, &info);
    } else {
      LapackRoutines<T>::gesdd(&job, &rows, &columns, matrix, &leading, results.values,
                               results.left, &leading_left, results.right, &leading_right,
                               space.work, &space.elements, space.integer_work, &info);
    }
    return info;
  }

  // syevd gives NaN without an error for some matrices (library_faults/table.cc), and gesdd is of
  // its kind.
  bool HasNan(const Results& results) const {
    return HasNanElement(results.values, least_) ||
           this->MatrixHasNan(vectors_->left, results.left) ||
           this->MatrixHasNan(vectors_->right, results.right);
  }

  void RunMatrix(int64_t matrix, const LapackBatch::Memory& memory, char* scratch) const override {
    Results results{.values = static_cast<Real*>(memory.result) + matrix * least_};
    if (vectors_.has_value()) {
      results.left = static_cast<T*>(memory.second) + matrix * vectors_->left.distance;
      results.right = static_cast<T*>(memory.third) + matrix * vectors_->right.distance;
    }
    const Workspace space{.work = ScratchArray<T>(scratch, work_offset_),
                          .elements = elements_,
                          .real_work = ScratchArray<Real>(scratch, real_offset_),
                          .integer_work = ScratchArray<LapackInt>(scratch, integer_offset_)};
    T* const copy = ScratchArray<T>(scratch, 0);
    if (divides_) {
      this->CopyMatrix(memory.operand, matrix, copy);
      if (Divide(copy, results, space) == 0 && !HasNan(results)) return;
    }
    this->CopyMatrix(memory.operand, matrix, copy);
    if (Iterate(copy, results, space) == 0) return;
    FillArrayWithNan(results.values, least_);
    if (!vectors_.has_value()) return;
    this->FillWithNan(vectors_->left, results.left);
    this->FillWithNan(vectors_->right, results.right);
  }

  const int64_t least_;  // of rows and columns
  const int64_t greatest_;
  const std::optional<SingularVectors> vectors_;
  const bool divides_;
  char left_job_ = 'N', right_job_ = 'N';
  LapackInt elements_ = 0;  // of the workspace
  size_t work_offset_ = 0;  // in scratch, which begins with a copy of the matrix
  size_t real_offset_ = 0;
  size_t integer_offset_ = 0;
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
