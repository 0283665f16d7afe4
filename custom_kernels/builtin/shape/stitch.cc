#include "custom_kernels/builtin/shape/stitch.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/shape/gather_rows.h"
#include "custom_kernels/builtin/support/call_handler.h"
#include "custom_kernels/builtin/support/chunks.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/builtin/support/schedule.h"
#include "custom_kernels/launch_kernel.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> StitchKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

// As stitch.cpp declares them.
constexpr int64_t kSourcesPerLaunch = 16;
struct StitchSources {
  void* data[kSourcesPerLaunch];
  uint32_t begins[kSourcesPerLaunch];
};
struct StitchSizes {
  int64_t rows, columns, chunk, piece, pieces;
  uint32_t first, count;
  int32_t sources, writes_zeros;
};

absl::StatusOr<std::vector<ffi::AnyBuffer>> Sources(const ffi::RemainingArgs& arguments,
                                                    const ffi::AnyBuffer& places,
                                                    const ffi::AnyBuffer& result) {
  const auto to = result.dimensions();
  bool fits = places.element_type() == ffi::U32 && places.dimensions().size() == 1 &&
              to.size() > 0 && places.dimensions()[0] == to[0];
  std::vector<ffi::AnyBuffer> sources;
  uint64_t rows = 0;
  for (size_t i = 0; fits && i < arguments.size(); ++i) {
    auto source = arguments.get<ffi::AnyBuffer>(i);
    if (source.has_error()) return absl::InvalidArgumentError(source.error().message());
    const auto from = source->dimensions();
    fits = source->element_type() == result.element_type() && from.size() == to.size() &&
           from[0] > 0 && std::equal(from.begin() + 1, from.end(), to.begin() + 1);
    if (fits) rows += from[0];
    sources.push_back(*source);
  }
  if (!fits || rows >= std::numeric_limits<uint32_t>::max()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "onexpu: stitch_rows: ", arguments.size(), " arrays of ", rows, " rows and places ",
        DescribeBuffer(places), " do not fill ", DescribeBuffer(result)));
  }
  return sources;
}

absl::Status StitchRows(sycl::queue& queue, const ffi::AnyBuffer& places,
                        const ffi::RemainingArgs& arguments, const ffi::AnyBuffer& result) {
  static const auto* const of_rows = new SizedKernelTable(StitchKernels(), "stitch_rows");
  static const auto* const of_elements = new SizedKernelTable(StitchKernels(), "stitch_elements");
  absl::StatusOr<std::vector<ffi::AnyBuffer>> sources = Sources(arguments, places, result);
  if (!sources.ok()) return sources.status();
  if (result.size_bytes() == 0) return absl::OkStatus();
  StitchSizes sizes = {};
  sizes.rows = result.dimensions()[0];
  const int64_t row_bytes = static_cast<int64_t>(result.size_bytes()) / sizes.rows;
  const int64_t bytes = BytesAtOnce(row_bytes);
  sizes.columns = row_bytes / bytes;
  const Chunks chunks = ChooseChunks(queue, sizes.rows, /*size_on_gpu=*/1);
  sizes.chunk = chunks.size;
  sizes.piece = ColumnsPerWorkItem(queue, sizes.columns);
  sizes.pieces = (sizes.columns + sizes.piece - 1) / sizes.piece;
  KernelRange range = chunks.range;
  range.global *= sizes.pieces;
  if (sizes.columns == 1) range = {.global = static_cast<size_t>(sizes.rows)};
  SpirvModule& kernel = *(sizes.columns == 1 ? of_elements : of_rows)->Find(bytes);
  // At most kSourcesPerLaunch arrays in one scan over the result; further scans add the others.
  const auto all = static_cast<int64_t>(sources->size());
  sizes.writes_zeros = 1;
  for (int64_t begin = 0; begin == 0 || begin < all; begin += kSourcesPerLaunch) {
    sizes.sources = static_cast<int32_t>(std::min(kSourcesPerLaunch, all - begin));
    sizes.count = 0;
    StitchSources from = {};
    for (int32_t i = 0; i < sizes.sources; ++i) {
      const ffi::AnyBuffer& source = (*sources)[begin + i];
      from.data[i] = source.untyped_data();
      from.begins[i] = sizes.first + sizes.count;
      sizes.count += static_cast<uint32_t>(source.dimensions()[0]);
    }
    absl::Status status = LaunchKernel(queue, kernel, range, places.untyped_data(),
                                       result.untyped_data(), from, sizes);
    if (!status.ok()) return status;
    sizes.first += sizes.count;
    sizes.writes_zeros = 0;
  }
  return absl::OkStatus();
}

}  // namespace

XLA_FFI_Error* StitchRowsHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<StitchRows, 1>(frame);
}

}  // namespace onexpu
