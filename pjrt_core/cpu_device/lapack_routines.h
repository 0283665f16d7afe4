// oneMKL's LAPACK and BLAS for the host by element type, and code that the batches of them share.
// Routines whose names end in _64 have 64-bit integers in every interface library of oneMKL.
// Stateless.
#ifndef PJRT_CORE_CPU_DEVICE_LAPACK_ROUTINES_H_
#define PJRT_CORE_CPU_DEVICE_LAPACK_ROUTINES_H_

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>

#include "mkl_blas_64.h"
#include "mkl_lapack.h"
#include "pjrt_core/cpu_device/lapack_batch.h"
#include "pjrt_core/program/program_generated.h"

namespace onexpu {

using LapackInt = MKL_INT64;

// `Element` is the library's type. evd is syevd for real matrices and heevd for complex ones, which
// has more arguments; gesvd and gesdd differ in the same way. ungqr is orgqr for real matrices.
template <typename T>
struct LapackRoutines;

template <>
struct LapackRoutines<float> {
  using Element = float;
  static constexpr auto& potrf = spotrf_64;
  static constexpr auto& getrf = sgetrf_64;
  static constexpr auto& geqrf = sgeqrf_64;
  static constexpr auto& ungqr = sorgqr_64;
  static constexpr auto& evd = ssyevd_64;
  static constexpr auto& gesvd = sgesvd_64;
  static constexpr auto& gesdd = sgesdd_64;
  static constexpr auto& trsm = strsm_64;
};

template <>
struct LapackRoutines<double> {
  using Element = double;
  static constexpr auto& potrf = dpotrf_64;
  static constexpr auto& getrf = dgetrf_64;
  static constexpr auto& geqrf = dgeqrf_64;
  static constexpr auto& ungqr = dorgqr_64;
  static constexpr auto& evd = dsyevd_64;
  static constexpr auto& gesvd = dgesvd_64;
  static constexpr auto& gesdd = dgesdd_64;
  static constexpr auto& trsm = dtrsm_64;
};

template <>
struct LapackRoutines<std::complex<float>> {
  using Element = MKL_Complex8;
  static constexpr auto& potrf = cpotrf_64;
  static constexpr auto& getrf = cgetrf_64;
  static constexpr auto& geqrf = cgeqrf_64;
  static constexpr auto& ungqr = cungqr_64;
  static constexpr auto& evd = cheevd_64;
  static constexpr auto& gesvd = cgesvd_64;
  static constexpr auto& gesdd = cgesdd_64;
  static constexpr auto& trsm = ctrsm_64;
};

template <>
struct LapackRoutines<std::complex<double>> {
  using Element = MKL_Complex16;
  static constexpr auto& potrf = zpotrf_64;
  static constexpr auto& getrf = zgetrf_64;
  static constexpr auto& geqrf = zgeqrf_64;
  static constexpr auto& ungqr = zungqr_64;
  static constexpr auto& evd = zheevd_64;
  static constexpr auto& gesvd = zgesvd_64;
  static constexpr auto& gesdd = zgesdd_64;
  static constexpr auto& trsm = ztrsm_64;
};

template <typename T>
using LapackElement = typename LapackRoutines<T>::Element;
template <typename T>
using LapackReal = decltype(std::real(T()));
template <typename T>
inline constexpr bool kIsLapackComplex = !std::is_same_v<T, LapackReal<T>>;

inline char LapackTriangle(bool lower) { return lower ? 'L' : 'U'; }

template <typename T>
LapackElement<T>* ToLapack(T* elements) {
  return reinterpret_cast<LapackElement<T>*>(elements);
}
template <typename T>
const LapackElement<T>* ToLapack(const T* elements) {
  return reinterpret_cast<const LapackElement<T>*>(elements);
}

// Workspace for one matrix: what a query answered, which may have been rounded down to its type, or
// the documented minimum.
template <typename T>
LapackInt WorkspaceElements(T answer, int64_t minimum) {
  const LapackReal<T> elements =
      std::nextafter(std::real(answer), std::numeric_limits<LapackReal<T>>::infinity());
  return std::max<LapackInt>({1, minimum, static_cast<LapackInt>(std::ceil(elements))});
}

// Arrays one after another in scratch memory.
struct ScratchLayout {
  // The offset of a new array.
  template <typename T>
  size_t Add(int64_t elements) {
    const size_t offset = bytes;
    bytes = (offset + elements * sizeof(T) + 63) / 64 * 64;
    return offset;
  }
  size_t bytes = 0;
};

// Bits that are all set are a NaN.
template <typename T>
void FillArrayWithNan(T* elements, int64_t count) {
  std::memset(static_cast<void*>(elements), 0xff, count * sizeof(T));
}

template <typename T>
bool HasNanElement(const T* elements, int64_t count) {
  return std::any_of(elements, elements + count, [](const T& x) {
    return std::isnan(std::real(x)) || std::isnan(std::imag(x));
  });
}

template <typename T>
T* ScratchArray(char* scratch, size_t offset) {
  return reinterpret_cast<T*>(scratch + offset);
}

// A batch of T that is laid out as `matrices`.
template <typename T>
class TypedLapackBatch : public LapackBatch {
 protected:
  explicit TypedLapackBatch(const ColumnMajorBatch& matrices)
      : LapackBatch(matrices.count), matrices_(matrices) {}

  const ColumnMajorBatch& matrices() const { return matrices_; }

  // The matrix of `to`, after a copy from the same one of `from` if that is other memory.
  T* CopiedMatrix(const void* from, void* to, int64_t matrix) const {
    T* const result = static_cast<T*>(to) + matrix * matrices_.distance;
    if (from != to) CopyMatrix(from, matrix, result);
    return result;
  }
  void CopyMatrix(const void* from, int64_t matrix, T* to) const {
    const T* const source = static_cast<const T*>(from) + matrix * matrices_.distance;
    ForEachColumn(matrices_, [&](int64_t offset, int64_t elements) {
      std::memcpy(to + offset, source + offset, elements * sizeof(T));
    });
  }
  static void FillWithNan(const ColumnMajorBatch& matrices, T* matrix) {
    ForEachColumn(matrices, [&](int64_t offset, int64_t elements) {
      FillArrayWithNan(matrix + offset, elements);
    });
  }
  static bool MatrixHasNan(const ColumnMajorBatch& matrices, const T* matrix) {
    bool has_nan = false;
    ForEachColumn(matrices, [&](int64_t offset, int64_t elements) {
      has_nan = has_nan || HasNanElement(matrix + offset, elements);
    });
    return has_nan;
  }

 private:
  // Calls visit(offset, elements) for contiguous parts of a matrix. Matrices may be interleaved.
  template <typename Visit>
  static void ForEachColumn(const ColumnMajorBatch& matrices, const Visit& visit) {
    if (matrices.leading == matrices.rows) return visit(0, matrices.rows * matrices.columns);
    for (int64_t i = 0; i < matrices.columns; ++i) visit(i * matrices.leading, matrices.rows);
  }

  const ColumnMajorBatch matrices_;
};

// A Batch<T> for the type of element; null if the library has no routines for it.
template <template <typename> class Batch, typename... Arguments>
std::unique_ptr<const LapackBatch> MakeTypedBatch(program::ElementType type,
                                                  const Arguments&... arguments) {
  switch (type) {
    case program::ElementType::F32:
      return std::make_unique<Batch<float>>(arguments...);
    case program::ElementType::F64:
      return std::make_unique<Batch<double>>(arguments...);
    case program::ElementType::C64:
      return std::make_unique<Batch<std::complex<float>>>(arguments...);
    case program::ElementType::C128:
      return std::make_unique<Batch<std::complex<double>>>(arguments...);
    default:
      return nullptr;
  }
}

}  // namespace onexpu

#endif  // PJRT_CORE_CPU_DEVICE_LAPACK_ROUTINES_H_
