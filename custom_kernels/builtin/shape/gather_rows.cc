#include "custom_kernels/builtin/shape/gather_rows.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/support/chunks.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/builtin/support/schedule.h"
#include "custom_kernels/launch_kernel.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> GatherRowsKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

// As gather_rows.cpp declares it.
struct GatherSizes {
  int64_t rows, columns, chunk, piece, pieces;
};

}  // namespace

int64_t BytesAtOnce(int64_t row_bytes) { return std::min<int64_t>(16, row_bytes & -row_bytes); }

absl::Status GatherRows(sycl::queue& queue, const ffi::AnyBuffer& data, const uint32_t* places,
                        const ffi::AnyBuffer& result) {
  static const auto* const of_rows = new SizedKernelTable(GatherRowsKernels(), "gather_rows");
  static const auto* const of_elements =
      new SizedKernelTable(GatherRowsKernels(), "gather_elements");
  const auto from = data.dimensions(), to = result.dimensions();
  const bool fits = data.element_type() == result.element_type() && from.size() > 0 &&
                    from.size() == to.size() &&
                    std::equal(from.begin() + 1, from.end(), to.begin() + 1);
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: gather_rows: rows of ",
                                                   DescribeBuffer(data), " do not fill ",
                                                   DescribeBuffer(result)));
  }
  if (result.element_count() == 0) return absl::OkStatus();
  GatherSizes sizes = {};
  sizes.rows = to[0];
  const int64_t row_bytes = static_cast<int64_t>(result.size_bytes()) / sizes.rows;
  const int64_t bytes = BytesAtOnce(row_bytes);
  sizes.columns = row_bytes / bytes;
  if (sizes.columns == 1) {
    return LaunchKernel(queue, *of_elements->Find(bytes),
                        {.global = static_cast<size_t>(sizes.rows)}, data.untyped_data(), places,
                        result.untyped_data());
  }
  const Chunks chunks = ChooseChunks(queue, sizes.rows, /*size_on_gpu=*/1);
  sizes.chunk = chunks.size;
  sizes.piece = ColumnsPerWorkItem(queue, sizes.columns);
  sizes.pieces = (sizes.columns + sizes.piece - 1) / sizes.piece;
  KernelRange range = chunks.range;
  range.global *= sizes.pieces;
  return LaunchKernel(queue, *of_rows->Find(bytes), range, data.untyped_data(), places,
                      result.untyped_data(), sizes);
}

}  // namespace onexpu
