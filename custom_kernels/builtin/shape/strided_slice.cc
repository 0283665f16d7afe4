#include "custom_kernels/builtin/shape/strided_slice.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "custom_kernels/builtin/shape/gather_rows.h"
#include "custom_kernels/builtin/support/call_handler.h"
#include "custom_kernels/builtin/support/chunks.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/builtin/support/schedule.h"
#include "custom_kernels/launch_kernel.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> StridedSliceKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

using Numbers = ffi::Span<const int64_t>;

constexpr size_t kMaxRank = 8;

// As strided_slice.cpp declares it.
struct StridedSizes {
  int64_t rows = 1, columns = 1;
  int64_t offset = 0;
  int64_t column_stride = 1;
  int64_t chunk = 1, piece = 1, pieces = 1;
  int64_t rank = 0;
  int64_t sizes[kMaxRank - 1] = {}, strides[kMaxRank - 1] = {};
};

struct Dimension {
  int64_t size, stride;
};

// INVALID_ARGUMENT unless the dense array has as many elements as `sizes`, and all places lie in
// the strided one.
absl::Status Check(const char* handler, const ffi::AnyBuffer& strided, const ffi::AnyBuffer& dense,
                   Numbers sizes, Numbers strides, int64_t offset) {
  const int64_t count = static_cast<int64_t>(strided.element_count());
  int64_t elements = 1, lowest = offset, highest = offset;
  bool fits = strided.element_type() == dense.element_type() && sizes.size() == strides.size() &&
              sizes.size() <= kMaxRank;
  for (size_t i = 0; fits && i < sizes.size(); ++i) {
    fits = sizes[i] >= 0;
    elements *= sizes[i];
    const int64_t extent = (sizes[i] - 1) * strides[i];
    (extent < 0 ? lowest : highest) += extent;
  }
  fits = fits && elements == static_cast<int64_t>(dense.element_count()) &&
         (elements == 0 || (lowest >= 0 && highest < count));
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("onexpu: ", handler, ": ", DescribeBuffer(dense), " are not [",
                   absl::StrJoin(sizes, ","), "] elements of ", DescribeBuffer(strided), " from ",
                   offset, " on, with strides [", absl::StrJoin(strides, ","), "]"));
}

// From the innermost to the outermost, those of one element left out and adjacent ones merged.
std::vector<Dimension> Merged(Numbers sizes, Numbers strides) {
  std::vector<Dimension> merged;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (!merged.empty() && strides[i] == merged.back().size * merged.back().stride) {
      merged.back().size *= sizes[i];
    } else {
      merged.push_back({sizes[i], strides[i]});
    }
  }
  return merged;
}

// How the kernel of the elements of `bytes` that it returns runs through the dimensions.
int64_t Plan(sycl::queue& queue, std::vector<Dimension> dimensions, int64_t offset, int64_t bytes,
             StridedSizes& plan) {
  if (dimensions.empty() || dimensions.front().stride != 1) {
    dimensions.insert(dimensions.begin(), {1, 1});
  }
  // Several elements of a contiguous row at once, if every row begins at a multiple of them.
  int64_t unit = dimensions.front().size * bytes | offset * bytes;
  for (size_t i = 1; i < dimensions.size(); ++i) unit |= dimensions[i].stride * bytes;
  const int64_t at_once = dimensions.front().size == 1 ? bytes : BytesAtOnce(unit);
  plan.columns = dimensions.front().size * bytes / at_once;
  const auto scaled = [&](int64_t elements) { return elements * bytes / at_once; };
  plan.offset = scaled(offset);
  dimensions.erase(dimensions.begin());
  if (plan.columns == 1 && !dimensions.empty()) {
    plan.columns = dimensions.front().size;
    plan.column_stride = scaled(dimensions.front().stride);
    dimensions.erase(dimensions.begin());
  }
  for (const Dimension& dimension : dimensions) {
    plan.sizes[plan.rank] = dimension.size;
    plan.strides[plan.rank++] = scaled(dimension.stride);
    plan.rows *= dimension.size;
  }
  plan.piece = ColumnsPerWorkItem(queue, plan.columns);
  plan.pieces = (plan.columns + plan.piece - 1) / plan.piece;
  return at_once;
}

absl::Status Launch(sycl::queue& queue, const SizedKernelTable& kernels,
                    std::vector<Dimension> dimensions, int64_t offset, int64_t bytes,
                    const void* data, void* result) {
  StridedSizes plan;
  const int64_t at_once = Plan(queue, std::move(dimensions), offset, bytes, plan);
  const Chunks chunks = ChooseChunks(queue, plan.rows, /*size_on_gpu=*/1);
  plan.chunk = chunks.size;
  KernelRange range = chunks.range;
  range.global *= plan.pieces;
  return LaunchKernel(queue, *kernels.Find(at_once), range, data, result, plan);
}

bool IsContiguous(const std::vector<Dimension>& dimensions) {
  return dimensions.empty() || (dimensions.size() == 1 && dimensions.front().stride == 1);
}

// INVALID_ARGUMENT unless the pieces, of `rows` rows each, fill the result.
absl::StatusOr<std::vector<ffi::AnyBuffer>> Pieces(const ffi::RemainingArgs& arguments,
                                                   const ffi::AnyBuffer& result, int64_t rows) {
  std::vector<ffi::AnyBuffer> pieces;
  size_t elements = 0;
  bool fits = rows > 0;
  for (size_t i = 0; fits && i < arguments.size(); ++i) {
    const auto piece = arguments.get<ffi::AnyBuffer>(i);
    if (piece.has_error()) return absl::InvalidArgumentError(piece.error().message());
    fits = piece->element_type() == result.element_type() && piece->element_count() % rows == 0;
    elements += piece->element_count();
    pieces.push_back(*piece);
  }
  if (fits && elements == result.element_count()) return pieces;
  return absl::InvalidArgumentError(absl::StrCat("onexpu: concatenate: ", arguments.size(),
                                                 " arrays of ", elements, " elements in ", rows,
                                                 " rows do not fill ", DescribeBuffer(result)));
}

absl::Status StridedSlice(sycl::queue& queue, const ffi::AnyBuffer& data,
                          const ffi::AnyBuffer& result, Numbers sizes, Numbers strides,
                          int64_t offset) {
  static const auto* const kernels = new SizedKernelTable(StridedSliceKernels(), "strided_read");
  absl::Status status = Check("strided_slice", data, result, sizes, strides, offset);
  if (!status.ok() || result.element_count() == 0) return status;
  const int64_t bytes = static_cast<int64_t>(result.size_bytes() / result.element_count());
  std::vector<Dimension> dimensions = Merged(sizes, strides);
  if (IsContiguous(dimensions)) {
    queue.memcpy(result.untyped_data(),
                 static_cast<const char*>(data.untyped_data()) + offset * bytes,
                 result.size_bytes());
    return absl::OkStatus();
  }
  return Launch(queue, *kernels, std::move(dimensions), offset, bytes, data.untyped_data(),
                result.untyped_data());
}

absl::Status StridedSliceGrad(sycl::queue& queue, const ffi::AnyBuffer& gradient,
                              const ffi::AnyBuffer& result, Numbers sizes, Numbers strides,
                              int64_t offset) {
  static const auto* const kernels = new SizedKernelTable(StridedSliceKernels(), "strided_write");
  absl::Status status = Check("strided_slice_grad", result, gradient, sizes, strides, offset);
  if (!status.ok() || result.element_count() == 0) return status;
  if (gradient.element_count() < result.element_count()) {
    queue.memset(result.untyped_data(), 0, result.size_bytes());
  }
  if (gradient.element_count() == 0) return absl::OkStatus();
  const int64_t bytes = static_cast<int64_t>(result.size_bytes() / result.element_count());
  std::vector<Dimension> dimensions = Merged(sizes, strides);
  if (IsContiguous(dimensions)) {
    queue.memcpy(static_cast<char*>(result.untyped_data()) + offset * bytes,
                 gradient.untyped_data(), gradient.size_bytes());
    return absl::OkStatus();
  }
  return Launch(queue, *kernels, std::move(dimensions), offset, bytes, gradient.untyped_data(),
                result.untyped_data());
}

absl::Status Concatenate(sycl::queue& queue, const ffi::RemainingArgs& arguments,
                         const ffi::AnyBuffer& result, int64_t rows) {
  static const auto* const kernels = new SizedKernelTable(StridedSliceKernels(), "strided_write");
  const absl::StatusOr<std::vector<ffi::AnyBuffer>> pieces = Pieces(arguments, result, rows);
  if (!pieces.ok()) return pieces.status();
  if (result.element_count() == 0) return absl::OkStatus();
  const int64_t bytes = static_cast<int64_t>(result.size_bytes() / result.element_count());
  const int64_t columns = static_cast<int64_t>(result.element_count()) / rows;
  int64_t offset = 0;
  for (const ffi::AnyBuffer& piece : *pieces) {
    const int64_t size = static_cast<int64_t>(piece.element_count()) / rows;
    if (size == 0) continue;
    if (rows == 1) {
      queue.memcpy(static_cast<char*>(result.untyped_data()) + offset * bytes, piece.untyped_data(),
                   piece.size_bytes());
    } else {
      absl::Status status = Launch(queue, *kernels, {{size, 1}, {rows, columns}}, offset, bytes,
                                   piece.untyped_data(), result.untyped_data());
      if (!status.ok()) return status;
    }
    offset += size;
  }
  return absl::OkStatus();
}

}  // namespace

XLA_FFI_Error* ConcatenateHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<Concatenate, 1>(frame, "rows");
}

XLA_FFI_Error* StridedSliceHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<StridedSlice, 1>(frame, "sizes", "strides", "offset");
}

XLA_FFI_Error* StridedSliceGradHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<StridedSliceGrad, 1>(frame, "sizes", "strides", "offset");
}

}  // namespace onexpu
