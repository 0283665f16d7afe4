#include "pjrt_core/program/verify_linear_algebra.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/program/program_generated.h"
#include "pjrt_core/program/verify_memory.h"

namespace onexpu::program {
namespace {

// Of a complex number's parts; the type itself when it is real.
ElementType RealOf(ElementType type) {
  if (type == ElementType::C64) return ElementType::F32;
  if (type == ElementType::C128) return ElementType::F64;
  return type;
}

class LinearAlgebraVerifier {
 public:
  LinearAlgebraVerifier(const Program& program, absl::string_view where)
      : program_(program), where_(where) {}

  absl::Status Fft(const FftThunk& thunk) {
    for (const Tensor* tensor : {thunk.source(), thunk.destination()}) {
      ONEXPU_RETURN_IF_ERROR(VerifyTensor(program_, *tensor, where_));
    }
    if (thunk.kind() > FftKind::MAX) return Error("unknown transform");
    const bool to_real = thunk.kind() == FftKind::Irfft;
    const bool from_real = thunk.kind() == FftKind::Rfft;
    const ElementType type = (to_real ? thunk.source() : thunk.destination())->element_type();
    if (thunk.source()->element_type() != (from_real ? RealOf(type) : type) ||
        thunk.destination()->element_type() != (to_real ? RealOf(type) : type)) {
      return Error("transform operands differ in type");
    }
    const auto& source = *thunk.source()->dimensions();
    const auto& destination = *thunk.destination()->dimensions();
    const auto& lengths = *thunk.lengths();
    const uint32_t rank = source.size();
    if (destination.size() != rank || lengths.size() < 1 || lengths.size() > rank) {
      return Error("transform operands differ in rank");
    }
    const uint32_t batch = rank - lengths.size();
    for (uint32_t i = 0; i < rank; ++i) {
      int64_t in = i < batch ? source[i] : lengths[i - batch], out = in;
      // Of the spectrum of a real signal half is there.
      if (i + 1 == rank && from_real) out = out / 2 + 1;
      if (i + 1 == rank && to_real) in = in / 2 + 1;
      if (source[i] != in || destination[i] != out) return Error("transform dimensions differ");
    }
    return absl::OkStatus();
  }

  absl::Status Cholesky(const CholeskyThunk& thunk) {
    ONEXPU_ASSIGN_OR_RETURN(const auto size, Matrix(*thunk.operand()));
    const auto [rows, columns] = size;
    if (rows != columns) return Error("cholesky of a matrix that is not square");
    return Part(*thunk.operand(), *thunk.result(), {rows, rows});
  }

  absl::Status TriangularSolve(const TriangularSolveThunk& thunk) {
    ONEXPU_ASSIGN_OR_RETURN(const auto size_of_a, Matrix(*thunk.a()));
    ONEXPU_ASSIGN_OR_RETURN(const auto size_of_b, Matrix(*thunk.b()));
    const auto [rows, columns] = size_of_b;
    if (thunk.transpose_a() > Transpose::MAX) return Error("unknown transpose");
    if (size_of_a[0] != size_of_a[1] || size_of_a[0] != (thunk.left_side() ? rows : columns)) {
      return Error("triangular solve dimensions differ");
    }
    ONEXPU_RETURN_IF_ERROR(Part(*thunk.a(), *thunk.b(), {rows, columns}));
    return Part(*thunk.a(), *thunk.result(), {rows, columns});
  }

  absl::Status Lu(const LuThunk& thunk) {
    ONEXPU_ASSIGN_OR_RETURN(const auto size, Matrix(*thunk.operand()));
    const auto [rows, columns] = size;
    ONEXPU_RETURN_IF_ERROR(Part(*thunk.operand(), *thunk.result(), {rows, columns}));
    ONEXPU_RETURN_IF_ERROR(
        Part(*thunk.operand(), *thunk.pivots(), {std::min(rows, columns)}, ElementType::S32));
    return Part(*thunk.operand(), *thunk.permutation(), {rows}, ElementType::S32);
  }

  absl::Status Qr(const QrThunk& thunk) {
    ONEXPU_ASSIGN_OR_RETURN(const auto size, Matrix(*thunk.operand()));
    const auto [rows, columns] = size;
    ONEXPU_RETURN_IF_ERROR(Part(*thunk.operand(), *thunk.result(), {rows, columns}));
    return Part(*thunk.operand(), *thunk.taus(), {std::min(rows, columns)});
  }

  absl::Status HouseholderProduct(const HouseholderProductThunk& thunk) {
    ONEXPU_ASSIGN_OR_RETURN(const auto size, Matrix(*thunk.operand()));
    const auto [rows, columns] = size;
    const auto& taus = *thunk.taus()->dimensions();
    const int64_t reflectors = taus.size() == 0 ? 0 : taus[taus.size() - 1];
    if (rows < columns || reflectors > columns) {
      return Error("more reflectors than columns, or more columns than rows");
    }
    ONEXPU_RETURN_IF_ERROR(Part(*thunk.operand(), *thunk.result(), {rows, columns}));
    return Part(*thunk.operand(), *thunk.taus(), {reflectors});
  }

  absl::Status Eigh(const EighThunk& thunk) {
    ONEXPU_ASSIGN_OR_RETURN(const auto size, Matrix(*thunk.operand()));
    const auto [rows, columns] = size;
    if (rows != columns) return Error("eigenvalues of a matrix that is not square");
    ONEXPU_RETURN_IF_ERROR(Part(*thunk.operand(), *thunk.vectors(), {rows, rows}));
    return Part(*thunk.operand(), *thunk.values(), {rows}, RealOf(thunk.operand()->element_type()));
  }

  absl::Status Svd(const SvdThunk& thunk) {
    ONEXPU_ASSIGN_OR_RETURN(const auto size, Matrix(*thunk.operand()));
    const auto [rows, columns] = size;
    const int64_t least = std::min(rows, columns);
    ONEXPU_RETURN_IF_ERROR(
        Part(*thunk.operand(), *thunk.values(), {least}, RealOf(thunk.operand()->element_type())));
    if ((thunk.left() == nullptr) != (thunk.right() == nullptr)) {
      return Error("singular vectors of one side");
    }
    if (thunk.left() == nullptr) return absl::OkStatus();
    // As many vectors as there are values, or all of them.
    const bool is_thin = Part(*thunk.operand(), *thunk.left(), {rows, least}).ok() &&
                         Part(*thunk.operand(), *thunk.right(), {least, columns}).ok();
    if (is_thin) return absl::OkStatus();
    ONEXPU_RETURN_IF_ERROR(Part(*thunk.operand(), *thunk.left(), {rows, rows}));
    return Part(*thunk.operand(), *thunk.right(), {columns, columns});
  }

 private:
  absl::Status Error(absl::string_view what) { return VerifyError(where_, what); }

  // Rows and columns.
  absl::StatusOr<std::array<int64_t, 2>> Matrix(const Tensor& operand) {
    ONEXPU_RETURN_IF_ERROR(VerifyTensor(program_, operand, where_));
    const auto& dimensions = *operand.dimensions();
    const uint32_t rank = dimensions.size();
    if (rank < 2) return Error("a factorisation of no matrix");
    return std::array<int64_t, 2>{dimensions[rank - 2], dimensions[rank - 1]};
  }

  // A tensor with the batch and, unless said otherwise, the type of `operand`; `dimensions` are
  // those behind the batch.
  absl::Status Part(const Tensor& operand, const Tensor& part,
                    const std::vector<int64_t>& dimensions, ElementType type) {
    ONEXPU_RETURN_IF_ERROR(VerifyTensor(program_, part, where_));
    const uint32_t batch = operand.dimensions()->size() - 2;
    bool fits =
        part.element_type() == type && part.dimensions()->size() == batch + dimensions.size();
    for (uint32_t i = 0; fits && i < part.dimensions()->size(); ++i) {
      fits = part.dimensions()->Get(i) ==
             (i < batch ? operand.dimensions()->Get(i) : dimensions[i - batch]);
    }
    if (!fits) return Error("parts of a factorisation differ in shape or type");
    return absl::OkStatus();
  }
  absl::Status Part(const Tensor& operand, const Tensor& part,
                    const std::vector<int64_t>& dimensions) {
    return Part(operand, part, dimensions, operand.element_type());
  }

  const Program& program_;
  const absl::string_view where_;
};

}  // namespace

absl::Status VerifyLinearAlgebra(const Program& program, const Thunk& thunk,
                                 absl::string_view where) {
  LinearAlgebraVerifier verifier(program, where);
  switch (thunk.kind_type()) {
    case ThunkKind::FftThunk:
      return verifier.Fft(*thunk.kind_as_FftThunk());
    case ThunkKind::CholeskyThunk:
      return verifier.Cholesky(*thunk.kind_as_CholeskyThunk());
    case ThunkKind::TriangularSolveThunk:
      return verifier.TriangularSolve(*thunk.kind_as_TriangularSolveThunk());
    case ThunkKind::LuThunk:
      return verifier.Lu(*thunk.kind_as_LuThunk());
    case ThunkKind::QrThunk:
      return verifier.Qr(*thunk.kind_as_QrThunk());
    case ThunkKind::HouseholderProductThunk:
      return verifier.HouseholderProduct(*thunk.kind_as_HouseholderProductThunk());
    case ThunkKind::EighThunk:
      return verifier.Eigh(*thunk.kind_as_EighThunk());
    case ThunkKind::SvdThunk:
      return verifier.Svd(*thunk.kind_as_SvdThunk());
    default:
      return VerifyError(where, "no transform or factorisation");
  }
}

}  // namespace onexpu::program
