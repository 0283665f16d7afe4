#include "custom_kernels/builtin/image/crop_and_resize.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "custom_kernels/builtin/support/call_handler.h"
#include "custom_kernels/builtin/support/chunks.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/builtin/support/schedule.h"
#include "custom_kernels/launch_kernel.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> CropAndResizeKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

// As crop_and_resize.cpp declares it.
struct CropSizes {
  int32_t batch, image_height, image_width, depth;
  int32_t boxes, crop_height, crop_width;
  int32_t nearest;
  int32_t piece_height, piece_width, piece_depth;
  int32_t rows;
};

const KernelTable& ForwardKernels() {
  static const KernelTable* const table =
      new KernelTable(CropAndResizeKernels(), "crop_and_resize");
  return *table;
}
const KernelTable& ForwardRowsKernels() {
  static const KernelTable* const table =
      new KernelTable(CropAndResizeKernels(), "crop_and_resize_rows");
  return *table;
}
const KernelTable& GradImageKernels() {
  static const KernelTable* const table =
      new KernelTable(CropAndResizeKernels(), "crop_and_resize_grad_image");
  return *table;
}
const KernelTable& GradBoxesKernels() {
  static const KernelTable* const table =
      new KernelTable(CropAndResizeKernels(), "crop_and_resize_grad_boxes");
  return *table;
}
const KernelTable& GradBoxesRowsKernels() {
  static const KernelTable* const table =
      new KernelTable(CropAndResizeKernels(), "crop_and_resize_grad_boxes_rows");
  return *table;
}
SpirvModule& RoundKernel() {
  static SpirvModule* const module =
      MakeModule(CropAndResizeKernels(), "crop_and_resize_round").release();
  return *module;
}

absl::StatusOr<SpirvModule*> Kernel(const KernelTable& table, ffi::DataType type,
                                    absl::string_view op) {
  if (SpirvModule* module = table.Find(type); module != nullptr) return module;
  return absl::UnimplementedError(
      absl::StrCat("onexpu: ", op, " has no kernel for images of this type (",
                   static_cast<int>(type), "): it takes ", absl::StrJoin(table.TypeNames(), ", ")));
}

// Checks the shapes against each other and gathers the sizes.
absl::StatusOr<CropSizes> Sizes(const ffi::AnyBuffer& image, const ffi::AnyBuffer& boxes,
                                const ffi::AnyBuffer& box_index, const ffi::AnyBuffer& crops,
                                std::string_view method) {
  const auto i = image.dimensions(), b = boxes.dimensions(), x = box_index.dimensions(),
             c = crops.dimensions();
  const bool fits = i.size() == 4 && b.size() == 2 && x.size() == 1 && c.size() == 4 && b[1] == 4 &&
                    b[0] == x[0] && b[0] == c[0] && i[3] == c[3] &&
                    boxes.element_type() == ffi::F32 && box_index.element_type() == ffi::S32 &&
                    crops.element_type() == ffi::F32;
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: crop_and_resize: image ", DescribeBuffer(image), ", boxes ",
                     DescribeBuffer(boxes), ", box_index ", DescribeBuffer(box_index),
                     " and crops ", DescribeBuffer(crops), " do not fit together"));
  }
  if (method != "bilinear" && method != "nearest") {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: crop_and_resize: method must be 'bilinear' or 'nearest', not '",
                     absl::string_view(method.data(), method.size()), "'"));
  }
  for (int64_t size : {i[0], i[1], i[2], i[3], c[0], c[1], c[2]}) {
    if (size > std::numeric_limits<int32_t>::max()) {
      return absl::InvalidArgumentError("onexpu: crop_and_resize: a dimension passes 2^31");
    }
  }
  const auto narrow = [](int64_t size) { return static_cast<int32_t>(size); };
  CropSizes sizes = {};
  sizes.batch = narrow(i[0]);
  sizes.image_height = narrow(i[1]);
  sizes.image_width = narrow(i[2]);
  sizes.depth = narrow(i[3]);
  sizes.boxes = narrow(c[0]);
  sizes.crop_height = narrow(c[1]);
  sizes.crop_width = narrow(c[2]);
  sizes.nearest = method == "nearest" ? 1 : 0;
  return sizes;
}

absl::Status Check(sycl::queue& queue, const ffi::AnyBuffer& boxes, const ffi::AnyBuffer& box_index,
                   const ffi::AnyBuffer& verdict, int64_t batch) {
  static SpirvModule* const kernel =
      MakeModule(CropAndResizeKernels(), "crop_and_resize_check").release();
  const auto b = boxes.dimensions(), x = box_index.dimensions();
  const bool fits = b.size() == 2 && x.size() == 1 && b[0] == x[0] && b[1] == 4 &&
                    boxes.element_type() == ffi::F32 && box_index.element_type() == ffi::S32 &&
                    verdict.element_type() == ffi::S64 && verdict.element_count() == 2;
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: crop_and_resize_check: boxes ", DescribeBuffer(boxes), ", box_index ",
                     DescribeBuffer(box_index), " and the verdict ", DescribeBuffer(verdict),
                     " do not fit together"));
  }
  const size_t local = ReductionGroupSize(queue);
  return LaunchKernel(queue, *kernel, {.global = local, .local = local}, boxes.untyped_data(),
                      box_index.untyped_data(), verdict.untyped_data(), int64_t{b[0]}, batch);
}

// The rows of one CPU work-item, for work of about `elements` elements.
int32_t RowsPerItem(const sycl::queue& queue, int64_t rows, int64_t elements) {
  const int64_t items = ChooseChunks(queue, elements, /*size_on_gpu=*/elements).count;
  return static_cast<int32_t>(
      std::min<int64_t>((rows + items - 1) / items, std::numeric_limits<int32_t>::max()));
}

absl::Status Forward(sycl::queue& queue, const ffi::AnyBuffer& image, const ffi::AnyBuffer& boxes,
                     const ffi::AnyBuffer& box_index, const ffi::AnyBuffer& crops,
                     float extrapolation_value, std::string_view method) {
  absl::StatusOr<CropSizes> sizes = Sizes(image, boxes, box_index, crops, method);
  if (!sizes.ok()) return sizes.status();
  const bool by_rows = HasCpuSchedules(queue);
  absl::StatusOr<SpirvModule*> kernel = Kernel(by_rows ? ForwardRowsKernels() : ForwardKernels(),
                                               image.element_type(), "crop_and_resize");
  if (!kernel.ok()) return kernel.status();
  if (crops.element_count() == 0) return absl::OkStatus();
  const int64_t rows = int64_t{sizes->boxes} * sizes->crop_height;
  if (by_rows) sizes->rows = RowsPerItem(queue, rows, crops.element_count());
  const KernelRange range = by_rows ? ChunksOf(queue, rows, sizes->rows).range
                                    : KernelRange{.global = crops.element_count()};
  return LaunchKernel(queue, **kernel, range, image.untyped_data(), boxes.untyped_data(),
                      box_index.untyped_data(), crops.untyped_data(), *sizes, extrapolation_value);
}

// Cuts the image's gradient: a CPU takes several whole rows, a GPU's work-items stand side by side.
KernelRange GradImagePieces(const sycl::queue& queue, CropSizes& sizes) {
  const int64_t rows = int64_t{sizes.batch} * sizes.image_height;
  if (!HasCpuSchedules(queue)) {
    sizes.piece_height = sizes.piece_width = sizes.piece_depth = 1;
    return {.global = static_cast<size_t>(rows * sizes.image_width * sizes.depth)};
  }
  const int64_t samples = int64_t{sizes.boxes} * sizes.crop_height * sizes.crop_width;
  const int64_t pixels = std::max(samples, rows * sizes.image_width);
  sizes.piece_height = std::min(RowsPerItem(queue, rows, pixels * sizes.depth), sizes.image_height);
  sizes.piece_width = sizes.image_width;
  sizes.piece_depth = sizes.depth;
  const int64_t pieces = (sizes.image_height + sizes.piece_height - 1) / sizes.piece_height;
  return ChunksOf(queue, sizes.batch * pieces, 1).range;
}

absl::Status GradImage(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                       const ffi::AnyBuffer& gradient, const ffi::AnyBuffer& boxes,
                       const ffi::AnyBuffer& box_index, const ffi::AnyBuffer& image_gradient,
                       std::string_view method) {
  absl::StatusOr<CropSizes> sizes = Sizes(image_gradient, boxes, box_index, gradient, method);
  if (!sizes.ok()) return sizes.status();
  const bool half = image_gradient.element_type() == ffi::F16;
  // Sums in half precision lose what single keeps.
  absl::StatusOr<SpirvModule*> kernel =
      Kernel(GradImageKernels(), half ? ffi::F32 : image_gradient.element_type(),
             "crop_and_resize_grad_image");
  if (!kernel.ok()) return kernel.status();
  const size_t elements = image_gradient.element_count();
  if (elements == 0) return absl::OkStatus();
  void* sums = image_gradient.untyped_data();
  if (half) {
    absl::StatusOr<void*> memory =
        AllocateScratch(scratch, elements * sizeof(float), "crop_and_resize_grad_image");
    if (!memory.ok()) return memory.status();
    sums = *memory;
  }
  absl::Status status =
      LaunchKernel(queue, **kernel, GradImagePieces(queue, *sizes), gradient.untyped_data(),
                   boxes.untyped_data(), box_index.untyped_data(), sums, *sizes);
  if (!status.ok() || !half) return status;
  return LaunchKernel(queue, RoundKernel(), {.global = elements}, sums,
                      image_gradient.untyped_data());
}

absl::Status GradBoxes(sycl::queue& queue, const ffi::AnyBuffer& gradient,
                       const ffi::AnyBuffer& image, const ffi::AnyBuffer& boxes,
                       const ffi::AnyBuffer& box_index, const ffi::AnyBuffer& boxes_gradient) {
  absl::StatusOr<CropSizes> sizes = Sizes(image, boxes, box_index, gradient, "bilinear");
  if (!sizes.ok()) return sizes.status();
  const auto shape = boxes_gradient.dimensions();
  if (boxes_gradient.element_type() != ffi::F32 || shape.size() != 2 || shape[0] != sizes->boxes ||
      shape[1] != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: crop_and_resize_grad_boxes: the result is ",
                     DescribeBuffer(boxes_gradient), ", not float32[", sizes->boxes, ",4]"));
  }
  const bool by_rows = HasCpuSchedules(queue);
  absl::StatusOr<SpirvModule*> kernel =
      Kernel(by_rows ? GradBoxesRowsKernels() : GradBoxesKernels(), image.element_type(),
             "crop_and_resize_grad_boxes");
  if (!kernel.ok()) return kernel.status();
  const size_t local = ReductionGroupSize(queue);
  return LaunchKernel(queue, **kernel,
                      {.global = static_cast<size_t>(sizes->boxes) * local, .local = local},
                      gradient.untyped_data(), image.untyped_data(), boxes.untyped_data(),
                      box_index.untyped_data(), boxes_gradient.untyped_data(), *sizes);
}

}  // namespace

XLA_FFI_Error* CropAndResizeCheckHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<Check, 1>(frame, "batch");
}

XLA_FFI_Error* CropAndResizeHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<Forward, 1>(frame, "extrapolation_value", "method");
}

XLA_FFI_Error* CropAndResizeGradImageHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<GradImage, 1>(frame, "method");
}

XLA_FFI_Error* CropAndResizeGradBoxesHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<GradBoxes, 1>(frame);
}

std::vector<std::string> CropAndResizeTypes() { return ForwardKernels().TypeNames(); }
std::vector<std::string> CropAndResizeGradImageTypes() {
  std::vector<std::string> names = GradImageKernels().TypeNames();
  names.push_back("float16");  // through single precision
  return names;
}
std::vector<std::string> CropAndResizeGradBoxesTypes() { return GradBoxesKernels().TypeNames(); }

}  // namespace onexpu
