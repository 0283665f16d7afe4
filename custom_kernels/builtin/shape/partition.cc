#include "custom_kernels/builtin/shape/partition.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/shape/gather_rows.h"
#include "custom_kernels/builtin/sort/counting_sort.h"
#include "custom_kernels/builtin/support/call_handler.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/launch_kernel.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> PartitionKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

// As partition.cpp declares them.
constexpr int64_t kAtOnce = 16;
struct Destinations {
  void* rows[kAtOnce];
};
struct MoveSizes {
  int64_t elements, kinds, chunk, columns, first, count;
};

bool IsVector(const ffi::AnyBuffer& buffer, ffi::DataType type) {
  return buffer.element_type() == type && buffer.dimensions().size() == 1;
}

// A CPU counts the rows of each partition, and `order` holds these counts: later scans over all
// rows move them, up to kAtOnce partitions at a time. Otherwise `order` holds row indices.
std::optional<KindChunks> ChunksOfCounts(const sycl::queue& queue, int64_t rows,
                                         int64_t partitions) {
  constexpr int64_t kMaxScans = 4;
  if (partitions > kMaxScans * kAtOnce) return std::nullopt;
  return KindChunksOf(queue, rows, partitions);
}

absl::Status Partition(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                       const ffi::AnyBuffer& partitions, const ffi::AnyBuffer& order,
                       const ffi::AnyBuffer& counts) {
  static SpirvModule* const count = MakeModule(PartitionKernels(), "partition_count").release();
  static SpirvModule* const find = MakeModule(PartitionKernels(), "partition_find").release();
  const bool fits = IsVector(partitions, ffi::S32) && partitions.element_count() > 0 &&
                    IsVector(order, ffi::U32) &&
                    order.element_count() == partitions.element_count() &&
                    IsVector(counts, ffi::S64) && counts.element_count() > 2;
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat(
        "onexpu: partition of ", DescribeBuffer(partitions), " does not fit into the order ",
        DescribeBuffer(order), " and counts ", DescribeBuffer(counts)));
  }
  const int64_t rows = partitions.dimensions()[0], kinds = counts.dimensions()[0] - 2;
  const int32_t* const kind_of = partitions.typed_data<int32_t>();
  auto* const ordered = order.typed_data<uint32_t>();
  const int64_t* begins = nullptr;
  if (ChunksOfCounts(queue, rows, kinds).has_value()) {
    absl::StatusOr<std::optional<CountedKinds>> counted =
        CountByKind(queue, scratch, kind_of, rows, kinds, ordered);
    if (!counted.ok()) return counted.status();
    begins = (*counted)->begins;
  } else {
    absl::StatusOr<SortedKinds> sorted = SortByKind(queue, scratch, kind_of, rows, kinds, ordered);
    if (!sorted.ok()) return sorted.status();
    begins = sorted->begins;
  }
  absl::Status status = LaunchKernel(queue, *count, {.global = static_cast<size_t>(kinds) + 1},
                                     begins, counts.untyped_data());
  if (!status.ok()) return status;
  return LaunchKernel(queue, *find, {.global = 1}, partitions.untyped_data(), counts.untyped_data(),
                      rows, kinds);
}

absl::Status MoveRows(sycl::queue& queue, const ffi::AnyBuffer& data,
                      const ffi::AnyBuffer& partitions, const ffi::AnyBuffer& order,
                      absl::Span<const ffi::AnyBuffer> results, const KindChunks& chunks) {
  static const auto* const moving = new SizedKernelTable(PartitionKernels(), "partition_move");
  const int64_t rows = partitions.dimensions()[0];
  const int64_t row_bytes = static_cast<int64_t>(data.size_bytes()) / rows;
  const int64_t bytes = BytesAtOnce(row_bytes);
  const KernelRange range = {.global = static_cast<size_t>(chunks.count),
                             .local = chunks.range.local};
  MoveSizes sizes = {rows, static_cast<int64_t>(results.size()), chunks.size, row_bytes / bytes};
  for (; sizes.first < sizes.kinds; sizes.first += kAtOnce) {
    sizes.count = std::min(kAtOnce, sizes.kinds - sizes.first);
    Destinations to = {};
    for (int64_t k = 0; k < sizes.count; ++k) to.rows[k] = results[sizes.first + k].untyped_data();
    absl::Status status = LaunchKernel(queue, *moving->Find(bytes), range, data.untyped_data(),
                                       partitions.untyped_data(), order.untyped_data(), to, sizes);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status PartitionRows(sycl::queue& queue, const ffi::AnyBuffer& data,
                           const ffi::AnyBuffer& partitions, const ffi::AnyBuffer& order,
                           const ffi::RemainingRets& returned) {
  std::vector<ffi::AnyBuffer> results;
  int64_t rows = 0;
  bool fits = IsVector(partitions, ffi::S32) && IsVector(order, ffi::U32) &&
              order.element_count() == partitions.element_count() && data.dimensions().size() > 0 &&
              returned.size() > 0 && data.dimensions()[0] == partitions.dimensions()[0];
  for (size_t i = 0; fits && i < returned.size(); ++i) {
    auto result = returned.get<ffi::AnyBuffer>(i);
    if (result.has_error()) return absl::InvalidArgumentError(result.error().message());
    const auto from = data.dimensions(), to = (*result)->dimensions();
    fits = (*result)->element_type() == data.element_type() && from.size() == to.size() &&
           std::equal(from.begin() + 1, from.end(), to.begin() + 1);
    if (fits) rows += to[0];
    results.push_back(**result);
  }
  if (!fits || rows != data.dimensions()[0]) {
    return absl::InvalidArgumentError(absl::StrCat(
        "onexpu: partition of rows ", DescribeBuffer(data), " by ", DescribeBuffer(partitions),
        " does not fit into ", returned.size(), " results with ", rows, " rows"));
  }
  if (data.size_bytes() == 0) return absl::OkStatus();
  const std::optional<KindChunks> chunks =
      ChunksOfCounts(queue, rows, static_cast<int64_t>(results.size()));
  if (chunks.has_value()) return MoveRows(queue, data, partitions, order, results, *chunks);
  const auto* places = order.typed_data<uint32_t>();
  for (const ffi::AnyBuffer& result : results) {
    absl::Status status = GatherRows(queue, data, places, result);
    if (!status.ok()) return status;
    places += result.dimensions()[0];
  }
  return absl::OkStatus();
}

}  // namespace

XLA_FFI_Error* PartitionHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<Partition, 2>(frame);
}

XLA_FFI_Error* PartitionRowsHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<PartitionRows, 0>(frame);
}

}  // namespace onexpu
