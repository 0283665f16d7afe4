#include "custom_kernels/builtin/partition.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/counting_sort.h"
#include "custom_kernels/builtin/kernel_table.h"
#include "custom_kernels/ffi_status.h"
#include "custom_kernels/launch_kernel.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> PartitionKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

absl::Status Partition(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                       const ffi::AnyBuffer& partitions, const ffi::AnyBuffer& places,
                       const ffi::AnyBuffer& counts) {
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
  const int64_t elements = partitions.dimensions()[0], kinds = counts.dimensions()[0] - 2;
  absl::StatusOr<SortedKinds> sorted = SortByKind(queue, scratch, partitions.typed_data<int32_t>(),
                                                  elements, kinds, places.typed_data<uint32_t>());
  if (!sorted.ok()) return sorted.status();
  return LaunchKernel(queue, *count, {.global = static_cast<size_t>(kinds) + 1}, sorted->places,
                      sorted->begins, counts.untyped_data(), kinds);
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
