#include "custom_kernels/builtin/shape/gather.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/shape/gather_rows.h"
#include "custom_kernels/builtin/support/call_handler.h"
#include "custom_kernels/builtin/support/chunks.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/builtin/support/schedule.h"
#include "custom_kernels/launch_kernel.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> GatherKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

// As gather.cpp declares it.
struct GatherSizes {
  int64_t outer, slices, count, columns, chunk, piece, pieces;
};

absl::Status Gather(sycl::queue& queue, const ffi::AnyBuffer& data, const ffi::AnyBuffer& indices,
                    const ffi::AnyBuffer& result, int64_t outer, int64_t slices) {
  static const auto* const by_s32 = new SizedKernelTable(GatherKernels(), "gather_int32");
  static const auto* const by_s64 = new SizedKernelTable(GatherKernels(), "gather_int64");
  const int64_t elements = static_cast<int64_t>(data.element_count());
  const int64_t count = static_cast<int64_t>(indices.element_count());
  const bool is_wide = indices.element_type() == ffi::S64;
  const bool fits = outer > 0 && slices > 0 && elements % (outer * slices) == 0 &&
                    data.element_type() == result.element_type() &&
                    (is_wide || indices.element_type() == ffi::S32) &&
                    static_cast<int64_t>(result.element_count()) == elements / slices * count;
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat(
        "onexpu: gather: ", DescribeBuffer(indices), " do not pick slices of ",
        DescribeBuffer(data), " as [", outer, ",", slices, ",...] for ", DescribeBuffer(result)));
  }
  if (result.element_count() == 0) return absl::OkStatus();
  const int64_t slice_bytes = static_cast<int64_t>(data.size_bytes()) / (outer * slices);
  const int64_t bytes = BytesAtOnce(slice_bytes);
  GatherSizes sizes = {.outer = outer, .slices = slices, .count = count};
  sizes.columns = slice_bytes / bytes;
  const Chunks chunks = ChooseChunks(queue, outer * count, /*size_on_gpu=*/1);
  sizes.chunk = chunks.size;
  sizes.piece = ColumnsPerWorkItem(queue, sizes.columns);
  sizes.pieces = (sizes.columns + sizes.piece - 1) / sizes.piece;
  KernelRange range = chunks.range;
  range.global *= sizes.pieces;
  return LaunchKernel(queue, *(is_wide ? by_s64 : by_s32)->Find(bytes), range, data.untyped_data(),
                      indices.untyped_data(), result.untyped_data(), sizes);
}

}  // namespace

XLA_FFI_Error* GatherHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<Gather, 1>(frame, "outer", "slices");
}

}  // namespace onexpu
