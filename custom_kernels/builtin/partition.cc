#include "custom_kernels/builtin/partition.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/chunks.h"
#include "custom_kernels/builtin/kernel_table.h"
#include "custom_kernels/builtin/radix_sort.h"
#include "custom_kernels/ffi_status.h"
#include "custom_kernels/launch_kernel.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> PartitionKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

// As partition.cpp declares it.
struct PartitionSizes {
  int64_t elements, partitions;
};

absl::Status Partition(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                       const ffi::AnyBuffer& partitions, const ffi::AnyBuffer& places,
                       const ffi::AnyBuffer& counts) {
  static SpirvModule* const number = MakeModule(PartitionKernels(), "partition_numbers").release();
  static SpirvModule* const count = MakeModule(PartitionKernels(), "partition_count").release();
  const auto is_vector = [](const ffi::AnyBuffer& buffer, ffi::DataType type) {
    return buffer.element_type() == type && buffer.dimensions().size() == 1;
  };
  const bool fits = is_vector(partitions, ffi::S32) && partitions.element_count() > 0 &&
                    is_vector(places, ffi::U32) &&
                    places.element_count() == partitions.element_count() &&
                    is_vector(counts, ffi::S64) && counts.element_count() > 2;
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat(
        "onexpu: partition of ", DescribeBuffer(partitions), " does not fit into places ",
        DescribeBuffer(places), " and counts ", DescribeBuffer(counts)));
  }
  const PartitionSizes sizes = {static_cast<int64_t>(partitions.element_count()),
                                static_cast<int64_t>(counts.element_count()) - 2};
  absl::StatusOr<void*> numbers =
      AllocateScratch(scratch, sizes.elements * sizeof(uint64_t), "partition");
  if (!numbers.ok()) return numbers.status();
  absl::Status status =
      LaunchKernel(queue, *number, {.global = static_cast<size_t>(sizes.elements)},
                   partitions.untyped_data(), *numbers, sizes);
  if (!status.ok()) return status;
  absl::StatusOr<SortedNumbers> sorted =
      SortWithPlaces(queue, scratch, static_cast<uint64_t*>(*numbers), sizes.elements,
                     BitsFor(sizes.partitions + 1));
  if (!sorted.ok()) return sorted.status();
  queue.memcpy(places.untyped_data(), sorted->places, places.size_bytes());
  return LaunchKernel(queue, *count, {.global = static_cast<size_t>(sizes.partitions) + 1},
                      sorted->numbers, sorted->places, counts.untyped_data(), sizes);
}

}  // namespace

XLA_FFI_Error* PartitionHandler(XLA_FFI_CallFrame* frame) {
  static const auto* const handler =
      ffi::Ffi::Bind()
          .Ctx<ffi::PlatformStream<sycl::queue*>>()
          .Ctx<ffi::ScratchAllocator>()
          .Arg<ffi::AnyBuffer>()
          .Ret<ffi::AnyBuffer>()
          .Ret<ffi::AnyBuffer>()
          .To([](sycl::queue* queue, ffi::ScratchAllocator scratch, ffi::AnyBuffer partitions,
                 ffi::Result<ffi::AnyBuffer> places, ffi::Result<ffi::AnyBuffer> counts) {
            return ToFfiError(Partition(*queue, scratch, partitions, *places, *counts));
          })
          .release();
  return handler->Call(frame);
}

}  // namespace onexpu
