#include "custom_kernels/builtin/sparse/sparse_pieces.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/support/call_handler.h"
#include "custom_kernels/builtin/support/chunks.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/launch_kernel.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> SparsePiecesKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

constexpr size_t kMaxRank = 16;

// As sparse_pieces.cpp declares it.
struct PieceSizes {
  int64_t elements, chunk;
  int32_t rank, dimension;
  int64_t offset;
  int64_t start[kMaxRank], size[kMaxRank];
};

using Numbers = ffi::Span<const int64_t>;

constexpr char kName[] = "sparse pieces";

SpirvModule& Module(absl::string_view label) {
  return *MakeModule(SparsePiecesKernels(), label).release();
}

bool AreElements(const ffi::AnyBuffer& coordinates, const ffi::AnyBuffer& values) {
  const auto shape = coordinates.dimensions();
  return coordinates.element_type() == ffi::S64 && shape.size() == 2 &&
         values.dimensions().size() == 1 && values.dimensions()[0] == shape[0];
}

absl::StatusOr<PieceSizes> SizesOf(const ffi::AnyBuffer& coordinates, const ffi::AnyBuffer& values,
                                   const ffi::AnyBuffer& new_coordinates,
                                   const ffi::AnyBuffer& new_values) {
  const bool fits = AreElements(coordinates, values) && AreElements(new_coordinates, new_values) &&
                    coordinates.element_count() == new_coordinates.element_count() &&
                    values.element_type() == new_values.element_type() &&
                    values.element_count() == new_values.element_count();
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat(
        "onexpu: ", kName, ": values ", DescribeBuffer(values), " at ", DescribeBuffer(coordinates),
        " do not become ", DescribeBuffer(new_values), " at ", DescribeBuffer(new_coordinates)));
  }
  const int64_t rank = coordinates.dimensions()[1];
  if (rank > static_cast<int64_t>(kMaxRank)) {
    return absl::UnimplementedError(
        absl::StrCat("onexpu: ", kName, ": ", DescribeBuffer(coordinates), " has more than ",
                     kMaxRank, " dimensions; put the op under tf.device('/CPU:0')"));
  }
  PieceSizes sizes = {};
  sizes.elements = coordinates.dimensions()[0];
  sizes.rank = static_cast<int32_t>(rank);
  return sizes;
}

absl::Status Slice(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                   const ffi::AnyBuffer& coordinates, const ffi::AnyBuffer& values,
                   const ffi::AnyBuffer& new_coordinates, const ffi::AnyBuffer& new_values,
                   const ffi::AnyBuffer& total, Numbers start, Numbers size) {
  static SpirvModule& count = Module("slice_count");
  static const auto* const writing = new SizedKernelTable(SparsePiecesKernels(), "slice_write");
  absl::StatusOr<PieceSizes> sizes = SizesOf(coordinates, values, new_coordinates, new_values);
  if (!sizes.ok()) return sizes.status();
  if (sizes->elements == 0 || start.size() != static_cast<size_t>(sizes->rank) ||
      size.size() != start.size() || total.element_type() != ffi::S64) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: ", kName, ": no slice of ",
                                                   DescribeBuffer(coordinates), " has ",
                                                   start.size(), " dimensions"));
  }
  SpirvModule* const write = writing->Find(ffi::ByteWidth(values.element_type()));
  if (write == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("onexpu: ", kName, ": no kernel for ", DescribeBuffer(values)));
  }
  std::copy(start.begin(), start.end(), sizes->start);
  std::copy(size.begin(), size.end(), sizes->size);
  const Chunks chunks = ChooseChunks(queue, sizes->elements, /*size_on_gpu=*/64);
  sizes->chunk = chunks.size;
  absl::StatusOr<void*> counts = AllocateScratch(scratch, chunks.count * sizeof(int64_t), kName);
  if (!counts.ok()) return counts.status();
  absl::Status status =
      LaunchKernel(queue, count, chunks.range, coordinates.untyped_data(), *counts, *sizes);
  if (!status.ok()) return status;
  status = ScanCounts(queue, *counts, chunks.count, total.untyped_data());
  if (!status.ok()) return status;
  return LaunchKernel(queue, *write, chunks.range, coordinates.untyped_data(),
                      values.untyped_data(), *counts, new_coordinates.untyped_data(),
                      new_values.untyped_data(), *sizes);
}

absl::Status Concat(sycl::queue& queue, const ffi::RemainingArgs& arguments,
                    const ffi::AnyBuffer& new_coordinates, const ffi::AnyBuffer& new_values,
                    int64_t dimension, Numbers offsets) {
  static SpirvModule& shift = Module("concat_shift");
  const auto refuse = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: ", kName, ": ", what, " do not make ",
                                                   DescribeBuffer(new_values), " at ",
                                                   DescribeBuffer(new_coordinates)));
  };
  if (arguments.size() != 2 * offsets.size() || !AreElements(new_coordinates, new_values))
    return refuse(absl::StrCat(offsets.size(), " tensors"));
  PieceSizes sizes = {};
  sizes.rank = static_cast<int32_t>(new_coordinates.dimensions()[1]);
  sizes.dimension = static_cast<int32_t>(dimension);
  auto* to_coordinates = static_cast<int64_t*>(new_coordinates.untyped_data());
  auto* to_values = static_cast<char*>(new_values.untyped_data());
  int64_t left = new_coordinates.dimensions()[0];
  for (size_t i = 0; i < offsets.size(); ++i) {
    auto coordinates = arguments.get<ffi::AnyBuffer>(2 * i);
    auto values = arguments.get<ffi::AnyBuffer>(2 * i + 1);
    if (coordinates.has_error() || values.has_error() || !AreElements(*coordinates, *values) ||
        coordinates->dimensions()[1] != sizes.rank ||
        values->element_type() != new_values.element_type() ||
        coordinates->dimensions()[0] > left) {
      return refuse(absl::StrCat("the elements of tensor ", i));
    }
    const int64_t elements = coordinates->dimensions()[0];
    if (elements == 0) continue;
    sizes.offset = offsets[i];
    absl::Status status = LaunchKernel(queue, shift, {.global = static_cast<size_t>(elements)},
                                       coordinates->untyped_data(), to_coordinates, sizes);
    if (!status.ok()) return status;
    queue.memcpy(to_values, values->untyped_data(), values->size_bytes());
    to_coordinates += elements * sizes.rank;
    to_values += values->size_bytes();
    left -= elements;
  }
  return left == 0 ? absl::OkStatus() : refuse("the elements of all tensors");
}

absl::Status CopyRows(sycl::queue& queue, const ffi::AnyBuffer& rows, const ffi::AnyBuffer& result,
                      int64_t first) {
  const auto from = rows.dimensions(), to = result.dimensions();
  const bool fits = rows.element_type() == result.element_type() && from.size() > 0 &&
                    from.size() == to.size() &&
                    std::equal(from.begin() + 1, from.end(), to.begin() + 1) && first >= 0 &&
                    to[0] <= from[0] - first;
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: copy_rows: ", DescribeBuffer(rows),
                                                   " has no ", DescribeBuffer(result), " from ",
                                                   first));
  }
  if (result.size_bytes() == 0) return absl::OkStatus();
  const size_t row_bytes = result.size_bytes() / to[0];
  queue.memcpy(result.untyped_data(),
               static_cast<const char*>(rows.untyped_data()) + first * row_bytes,
               result.size_bytes());
  return absl::OkStatus();
}

}  // namespace

XLA_FFI_Error* SparseSliceHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<Slice, 3>(frame, "start", "size");
}

XLA_FFI_Error* SparseConcatHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<Concat, 2>(frame, "dimension", "offsets");
}

XLA_FFI_Error* CopyRowsHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<CopyRows, 1>(frame, "first");
}

}  // namespace onexpu
