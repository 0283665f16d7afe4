#include "custom_kernels/builtin/segment/segment_reduce.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/support/call_handler.h"
#include "custom_kernels/builtin/support/chunks.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/builtin/support/schedule.h"
#include "custom_kernels/launch_kernel.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> SegmentReduceKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

// As segment_reduce.cpp declares it.
struct SegmentSizes {
  int64_t rows, columns, segments, data_rows, chunk;
  int32_t ids_are_wide, indices_are_wide, combiner, has_indices;
};

// Numbered as in segment_reduce.cpp.
constexpr std::string_view kCombiners[] = {"sum", "mean", "sqrtn", "prod", "min", "max"};

const KernelTable& ReduceKernels() {
  static const auto* const table = new KernelTable(SegmentReduceKernels(), "segment_reduce");
  return *table;
}
const KernelTable& ReduceRowsKernels() {
  static const auto* const table = new KernelTable(SegmentReduceKernels(), "segment_reduce_rows");
  return *table;
}
SpirvModule& Module(absl::string_view label) {
  return *MakeModule(SegmentReduceKernels(), label).release();
}
SpirvModule& CheckKernel() {
  static SpirvModule& module = Module("segment_check");
  return module;
}
SpirvModule& BeginsKernel() {
  static SpirvModule& module = Module("segment_begins");
  return module;
}

// The numbers of segments, and of rows when there are any: sizes that follow from these alone.
absl::StatusOr<SegmentSizes> SizesOf(const ffi::AnyBuffer& ids,
                                     const std::optional<ffi::AnyBuffer>& indices) {
  const auto is_number = [](const ffi::AnyBuffer& buffer) {
    return buffer.dimensions().size() == 1 &&
           (buffer.element_type() == ffi::S32 || buffer.element_type() == ffi::S64);
  };
  const bool fits =
      is_number(ids) && (!indices.has_value() ||
                         (is_number(*indices) && indices->dimensions()[0] == ids.dimensions()[0]));
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat(
        "onexpu: segments: numbers ", DescribeBuffer(ids),
        indices.has_value() ? absl::StrCat(" and indices ", DescribeBuffer(*indices)) : "",
        " must be vectors of one length, of int32 or int64"));
  }
  SegmentSizes sizes = {};
  sizes.rows = ids.dimensions()[0];
  sizes.ids_are_wide = ids.element_type() == ffi::S64;
  sizes.has_indices = indices.has_value();
  sizes.indices_are_wide = indices.has_value() && indices->element_type() == ffi::S64;
  return sizes;
}

absl::StatusOr<std::optional<ffi::AnyBuffer>> IndicesAmong(const ffi::RemainingArgs& arguments) {
  if (arguments.size() == 0) return std::nullopt;
  if (arguments.size() > 1) {
    return absl::InvalidArgumentError("onexpu: segments: too many operands");
  }
  auto indices = arguments.get<ffi::AnyBuffer>(0);
  if (indices.has_error()) return absl::InvalidArgumentError(indices.error().message());
  return std::optional<ffi::AnyBuffer>(*indices);
}

absl::Status Check(sycl::queue& queue, const ffi::AnyBuffer& ids,
                   const ffi::RemainingArgs& arguments, const ffi::AnyBuffer& verdict,
                   int64_t data_rows) {
  absl::StatusOr<std::optional<ffi::AnyBuffer>> indices = IndicesAmong(arguments);
  if (!indices.ok()) return indices.status();
  absl::StatusOr<SegmentSizes> sizes = SizesOf(ids, *indices);
  if (!sizes.ok()) return sizes.status();
  if (verdict.element_type() != ffi::S64 || verdict.element_count() != 4 || sizes->rows == 0) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: segments: the verdict on ",
                                                   DescribeBuffer(ids), " is ",
                                                   DescribeBuffer(verdict), ", not int64[4]"));
  }
  sizes->data_rows = data_rows;
  // A single short chunk needs no zeroed verdict and no second thread.
  constexpr int64_t kMaxSerialRows = 1 << 16;
  const Chunks chunks = HasCpuSchedules(queue) && sizes->rows <= kMaxSerialRows
                            ? ChunksOf(queue, sizes->rows, sizes->rows)
                            : ChooseChunks(queue, sizes->rows, /*size_on_gpu=*/64);
  sizes->chunk = chunks.size;
  const void* const picks = indices->has_value() ? (*indices)->untyped_data() : nullptr;
  if (chunks.count > 1) queue.memset(verdict.untyped_data(), 0, verdict.size_bytes());
  return LaunchKernel(queue, CheckKernel(), chunks.range, ids.untyped_data(), picks,
                      verdict.untyped_data(), *sizes);
}

absl::Status Reduce(sycl::queue& queue, ffi::ScratchAllocator& scratch, const ffi::AnyBuffer& data,
                    const ffi::AnyBuffer& ids, const ffi::RemainingArgs& arguments,
                    const ffi::AnyBuffer& result, std::string_view combiner) {
  absl::StatusOr<std::optional<ffi::AnyBuffer>> indices = IndicesAmong(arguments);
  if (!indices.ok()) return indices.status();
  absl::StatusOr<SegmentSizes> sizes = SizesOf(ids, *indices);
  if (!sizes.ok()) return sizes.status();
  const auto rows = data.dimensions(), segments = result.dimensions();
  const bool fits = rows.size() > 0 && rows.size() == segments.size() &&
                    std::equal(rows.begin() + 1, rows.end(), segments.begin() + 1) &&
                    data.element_type() == result.element_type() &&
                    (sizes->has_indices || rows[0] == sizes->rows);
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: segments: data ", DescribeBuffer(data),
                                                   " with numbers ", DescribeBuffer(ids),
                                                   " do not reduce to ", DescribeBuffer(result)));
  }
  const auto* const known = std::find(std::begin(kCombiners), std::end(kCombiners), combiner);
  if (known == std::end(kCombiners)) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: segments: there is no combiner '",
                     absl::string_view(combiner.data(), combiner.size()), "'"));
  }
  SpirvModule* const kernel = ReduceKernels().Find(data.element_type());
  if (kernel == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("onexpu: segments of ", DescribeBuffer(data), " have no kernel"));
  }
  sizes->data_rows = rows[0];
  sizes->segments = segments[0];
  sizes->combiner = static_cast<int32_t>(known - std::begin(kCombiners));
  const size_t elements = result.element_count();
  if (elements == 0) return absl::OkStatus();
  sizes->columns = static_cast<int64_t>(elements) / sizes->segments;
  const void* const picks = indices->has_value() ? (*indices)->untyped_data() : nullptr;
  if (HasCpuSchedules(queue)) {
    const Chunks chunks = ChooseChunks(queue, std::max<int64_t>(sizes->rows, 1), /*size_on_gpu=*/1);
    sizes->chunk = chunks.size;
    return LaunchKernel(queue, *ReduceRowsKernels().Find(data.element_type()), chunks.range,
                        data.untyped_data(), picks, ids.untyped_data(), result.untyped_data(),
                        *sizes);
  }
  absl::StatusOr<void*> begins =
      AllocateScratch(scratch, (sizes->segments + 1) * sizeof(int64_t), "segments");
  if (!begins.ok()) return begins.status();
  const Chunks row_chunks = ChooseChunks(queue, sizes->rows + 1, /*size_on_gpu=*/1);
  sizes->chunk = row_chunks.size;
  absl::Status status =
      LaunchKernel(queue, BeginsKernel(), row_chunks.range, ids.untyped_data(), *begins, *sizes);
  if (!status.ok()) return status;
  return LaunchKernel(queue, *kernel, {.global = elements}, data.untyped_data(), picks, *begins,
                      result.untyped_data(), *sizes);
}

}  // namespace

XLA_FFI_Error* SegmentCheckHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<Check, 1>(frame, "data_rows");
}

XLA_FFI_Error* SegmentReduceHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<Reduce, 1>(frame, "combiner");
}

std::vector<std::string> SegmentReduceTypes() { return ReduceKernels().TypeNames(); }

}  // namespace onexpu
