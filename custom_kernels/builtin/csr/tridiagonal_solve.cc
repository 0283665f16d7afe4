#include "custom_kernels/builtin/csr/tridiagonal_solve.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/support/call_handler.h"
#include "custom_kernels/builtin/support/chunks.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/launch_kernel.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> TridiagonalSolveKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

// As tridiagonal_solve.cpp declares it.
struct TridiagonalSizes {
  int64_t rows, batches, columns;
  int32_t is_pivoting, padding;
};

const KernelTable& FactorKernels() {
  static const auto* const table = new KernelTable(TridiagonalSolveKernels(), "tridiagonal_factor");
  return *table;
}

bool Fits(const ffi::AnyBuffer& diagonals, const ffi::AnyBuffer& right,
          const ffi::AnyBuffer& result) {
  const auto d = diagonals.dimensions(), r = right.dimensions();
  return r.size() >= 2 && d.size() == r.size() && std::equal(d.begin(), d.end() - 2, r.begin()) &&
         d[d.size() - 2] == 3 && d.back() == r[r.size() - 2] && result.dimensions() == r &&
         diagonals.element_type() == right.element_type() &&
         result.element_type() == right.element_type();
}

absl::Status Solve(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                   const ffi::AnyBuffer& diagonals, const ffi::AnyBuffer& right,
                   const ffi::AnyBuffer& result, bool is_pivoting) {
  static const auto* const solvers =
      new KernelTable(TridiagonalSolveKernels(), "tridiagonal_solve");
  if (!Fits(diagonals, right, result)) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: tridiagonal_solve: ", DescribeBuffer(right), " by ",
                     DescribeBuffer(diagonals), " is not ", DescribeBuffer(result)));
  }
  SpirvModule* const factor = FactorKernels().Find(right.element_type());
  SpirvModule* const solve = solvers->Find(right.element_type());
  if (factor == nullptr || solve == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("onexpu: tridiagonal_solve has no kernel for ", DescribeBuffer(right)));
  }
  const auto dimensions = right.dimensions();
  TridiagonalSizes sizes{.is_pivoting = is_pivoting};
  sizes.rows = dimensions[dimensions.size() - 2];
  sizes.columns = dimensions.back();
  const auto elements = static_cast<int64_t>(right.element_count());
  if (elements == 0) return absl::OkStatus();
  sizes.batches = elements / sizes.rows / sizes.columns;
  const size_t of_rows = static_cast<size_t>(sizes.rows * sizes.batches);
  absl::StatusOr<void*> memory = AllocateScratch(
      scratch, of_rows * (4 * ffi::ByteWidth(right.element_type()) + 1), "tridiagonal_solve");
  if (!memory.ok()) return memory.status();
  const absl::Status status =
      LaunchKernel(queue, *factor, {.global = static_cast<size_t>(sizes.batches)},
                   diagonals.untyped_data(), *memory, sizes);
  if (!status.ok()) return status;
  return LaunchKernel(queue, *solve, {.global = static_cast<size_t>(sizes.batches * sizes.columns)},
                      right.untyped_data(), *memory, result.untyped_data(), sizes);
}

}  // namespace

XLA_FFI_Error* TridiagonalSolveHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<Solve, 1>(frame, "partial_pivoting");
}

std::vector<std::string> TridiagonalSolveTypes() { return FactorKernels().TypeNames(); }

}  // namespace onexpu
