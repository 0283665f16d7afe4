#include "custom_kernels/builtin/sparse/sparse_slice_grad.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/support/call_handler.h"
#include "custom_kernels/builtin/support/chunks.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/launch_kernel.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> SparseSliceGradKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

constexpr char kName[] = "gradient of a sparse slice";

// As sparse_slice_grad.cpp declares it.
struct SliceGradSizes {
  int64_t elements, sliced, chunk;
  int32_t rank, padding;
};

bool AreCoordinates(const ffi::AnyBuffer& buffer) {
  return buffer.element_type() == ffi::S64 && buffer.dimensions().size() == 2;
}

absl::Status Differentiate(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                           const ffi::AnyBuffer& gradient, const ffi::AnyBuffer& coordinates,
                           const ffi::AnyBuffer& start, const ffi::AnyBuffer& slice,
                           const ffi::AnyBuffer& result) {
  static SpirvModule& look = *MakeModule(SparseSliceGradKernels(), "slice_grad_look").release();
  static const auto* const searching =
      new SizedKernelTable(SparseSliceGradKernels(), "slice_grad_search");
  static const auto* const merging =
      new SizedKernelTable(SparseSliceGradKernels(), "slice_grad_merge");
  const bool fits =
      AreCoordinates(coordinates) && AreCoordinates(slice) &&
      slice.dimensions()[1] == coordinates.dimensions()[1] && start.element_type() == ffi::S64 &&
      start.dimensions().size() == 1 && start.dimensions()[0] == slice.dimensions()[1] &&
      gradient.dimensions().size() == 1 && gradient.dimensions()[0] == slice.dimensions()[0] &&
      result.dimensions().size() == 1 && result.dimensions()[0] == coordinates.dimensions()[0] &&
      result.element_type() == gradient.element_type();
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat(
        "onexpu: ", kName, ": ", DescribeBuffer(gradient), " at ", DescribeBuffer(slice),
        " is none of ", DescribeBuffer(result), " at ", DescribeBuffer(coordinates)));
  }
  SliceGradSizes sizes = {};
  sizes.elements = coordinates.dimensions()[0];
  sizes.sliced = slice.dimensions()[0];
  sizes.rank = static_cast<int32_t>(coordinates.dimensions()[1]);
  if (sizes.elements == 0) return absl::OkStatus();
  if (sizes.sliced == 0) {
    queue.memset(result.untyped_data(), 0, result.size_bytes());
    return absl::OkStatus();
  }
  const size_t bytes = ffi::ByteWidth(result.element_type());
  SpirvModule* const search = searching->Find(bytes);
  SpirvModule* const merge = merging->Find(bytes);
  if (search == nullptr || merge == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("onexpu: ", kName, ": no kernel for ", DescribeBuffer(result)));
  }
  absl::StatusOr<void*> is_in_disorder = AllocateScratch(scratch, sizeof(uint32_t), kName);
  if (!is_in_disorder.ok()) return is_in_disorder.status();
  queue.memset(*is_in_disorder, 0, sizeof(uint32_t));
  const Chunks of_slice = ChooseChunks(queue, sizes.sliced, /*size_on_gpu=*/1);
  sizes.chunk = of_slice.size;
  absl::Status status =
      LaunchKernel(queue, look, of_slice.range, slice.untyped_data(), *is_in_disorder, sizes);
  if (!status.ok()) return status;
  const Chunks of_whole = ChooseChunks(queue, sizes.elements, /*size_on_gpu=*/1);
  sizes.chunk = of_whole.size;
  const auto launch = [&](SpirvModule& kernel, const KernelRange& range) {
    return LaunchKernel(queue, kernel, range, gradient.untyped_data(), coordinates.untyped_data(),
                        start.untyped_data(), slice.untyped_data(), *is_in_disorder,
                        result.untyped_data(), sizes);
  };
  status = launch(*search, of_whole.range);
  if (!status.ok()) return status;
  return launch(*merge, {.global = 1, .local = 1});
}

}  // namespace

XLA_FFI_Error* SparseSliceGradHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<Differentiate, 1>(frame);
}

}  // namespace onexpu
