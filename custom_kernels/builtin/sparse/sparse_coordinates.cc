#include "custom_kernels/builtin/sparse/sparse_coordinates.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "custom_kernels/builtin/shape/gather_rows.h"
#include "custom_kernels/builtin/sort/radix_sort.h"
#include "custom_kernels/builtin/support/call_handler.h"
#include "custom_kernels/builtin/support/chunks.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/launch_kernel.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> SparseCoordinatesKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

constexpr size_t kMaxRank = 16;

// As sparse_coordinates.cpp declares it.
struct CoordinateSizes {
  int64_t elements, count, chunk;
  int32_t rank, new_rank, first, last;
  int64_t shape[kMaxRank], new_shape[kMaxRank];
};

using Shape = ffi::Span<const int64_t>;

absl::StatusOr<CoordinateSizes> SizesOf(const ffi::AnyBuffer& indices, Shape shape,
                                        Shape new_shape) {
  const auto describe = [](Shape dimensions) {
    return absl::StrCat("[", absl::StrJoin(dimensions.begin(), dimensions.end(), ","), "]");
  };
  const auto dimensions = indices.dimensions();
  if (indices.element_type() != ffi::S64 || dimensions.size() != 2 ||
      dimensions[1] != static_cast<int64_t>(shape.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: sparse coordinates: ", DescribeBuffer(indices),
                     " are no indices into ", describe(shape)));
  }
  if (shape.size() > kMaxRank || new_shape.size() > kMaxRank) {
    return absl::UnimplementedError(
        absl::StrCat("onexpu: sparse coordinates: ", describe(shape), " has more than ", kMaxRank,
                     " dimensions; put the op under tf.device('/CPU:0')"));
  }
  CoordinateSizes sizes = {};
  sizes.count = dimensions[0];
  sizes.rank = static_cast<int32_t>(shape.size());
  sizes.new_rank = static_cast<int32_t>(new_shape.size());
  std::copy(shape.begin(), shape.end(), sizes.shape);
  std::copy(new_shape.begin(), new_shape.end(), sizes.new_shape);
  return sizes;
}

// Takes the dimensions before `last`, as many as a number has places for; whether that is all.
bool TakeDimensions(int32_t last, CoordinateSizes& sizes) {
  sizes.last = last;
  sizes.first = last;
  sizes.elements = 1;
  while (sizes.first > 0) {
    int64_t more = 0;
    if (__builtin_mul_overflow(sizes.elements, sizes.shape[sizes.first - 1], &more)) return false;
    sizes.elements = more;
    --sizes.first;
  }
  return true;
}

// Where each element was, in row-major order of the coordinates. Shapes of 2^63 elements or more
// are sorted by their last dimensions first, and by those before while equals keep their order.
absl::StatusOr<const uint32_t*> SortedOrder(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                                            const ffi::AnyBuffer& indices, CoordinateSizes sizes) {
  static SpirvModule* const places =
      MakeModule(SparseCoordinatesKernels(), "coordinate_places").release();
  static SpirvModule* const compose =
      MakeModule(SparseCoordinatesKernels(), "coordinate_order").release();
  const size_t count = static_cast<size_t>(sizes.count);
  absl::StatusOr<void*> numbers =
      AllocateScratch(scratch, count * sizeof(uint64_t), "sparse coordinates");
  if (!numbers.ok()) return numbers.status();
  const uint32_t* order = nullptr;
  bool is_last = false;
  for (int32_t last = sizes.rank; !is_last; last = sizes.first) {
    is_last = TakeDimensions(last, sizes);
    absl::Status status = LaunchKernel(queue, *places, {.global = count}, indices.untyped_data(),
                                       static_cast<const void*>(order), *numbers, sizes);
    if (!status.ok()) return status;
    absl::StatusOr<SortedNumbers> sorted =
        SortWithPlaces(queue, scratch, static_cast<uint64_t*>(*numbers), sizes.count,
                       BitsFor(static_cast<uint64_t>(sizes.elements) + 1));
    if (!sorted.ok()) return sorted.status();
    if (order == nullptr) {
      order = sorted->places;
      continue;
    }
    absl::StatusOr<void*> composed =
        AllocateScratch(scratch, count * sizeof(uint32_t), "sparse coordinates");
    if (!composed.ok()) return composed.status();
    status = LaunchKernel(queue, *compose, {.global = count}, static_cast<const void*>(order),
                          static_cast<const void*>(sorted->places), *composed);
    if (!status.ok()) return status;
    order = static_cast<const uint32_t*>(*composed);
  }
  return order;
}

absl::Status Reorder(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                     const ffi::AnyBuffer& indices, const ffi::AnyBuffer& values,
                     const ffi::AnyBuffer& new_indices, const ffi::AnyBuffer& new_values,
                     Shape shape) {
  absl::StatusOr<CoordinateSizes> sizes = SizesOf(indices, shape, {});
  if (!sizes.ok()) return sizes.status();
  const int64_t count = indices.dimensions()[0];
  const auto is_vector = [&](const ffi::AnyBuffer& buffer) {
    return buffer.dimensions().size() == 1 && buffer.dimensions()[0] == count;
  };
  if (!is_vector(values) || !is_vector(new_values) ||
      new_indices.size_bytes() != indices.size_bytes()) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: sparse coordinates: values ", DescribeBuffer(values), " of indices ",
                     DescribeBuffer(indices), " do not become ", DescribeBuffer(new_values), " of ",
                     DescribeBuffer(new_indices)));
  }
  if (count == 0) return absl::OkStatus();
  absl::StatusOr<const uint32_t*> order = SortedOrder(queue, scratch, indices, *sizes);
  if (!order.ok()) return order.status();
  absl::Status status = GatherRows(queue, indices, *order, new_indices);
  if (!status.ok()) return status;
  return GatherRows(queue, values, *order, new_values);
}

absl::Status Reshape(sycl::queue& queue, const ffi::AnyBuffer& indices,
                     const ffi::AnyBuffer& result, Shape from, Shape to) {
  static SpirvModule* const reshape =
      MakeModule(SparseCoordinatesKernels(), "coordinate_reshape").release();
  absl::StatusOr<CoordinateSizes> sizes = SizesOf(indices, from, to);
  if (!sizes.ok()) return sizes.status();
  const auto dimensions = result.dimensions();
  if (result.element_type() != ffi::S64 || dimensions.size() != 2 ||
      dimensions[0] != indices.dimensions()[0] ||
      dimensions[1] != static_cast<int64_t>(to.size()) ||
      std::find(to.begin(), to.end(), 0) != to.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: sparse coordinates: ", DescribeBuffer(indices), " do not become ",
                     DescribeBuffer(result)));
  }
  if (!TakeDimensions(sizes->rank, *sizes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: sparse coordinates: [", absl::StrJoin(from.begin(), from.end(), ","),
                     "] has 2^63 elements or more, whose places no number has"));
  }
  const Chunks chunks = ChooseChunks(queue, sizes->count, /*size_on_gpu=*/1);
  sizes->chunk = chunks.size;
  return LaunchKernel(queue, *reshape, chunks.range, indices.untyped_data(), result.untyped_data(),
                      *sizes);
}

}  // namespace

XLA_FFI_Error* SparseReorderHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<Reorder, 2>(frame, "shape");
}

XLA_FFI_Error* SparseReshapeHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<Reshape, 1>(frame, "from", "to");
}

}  // namespace onexpu
