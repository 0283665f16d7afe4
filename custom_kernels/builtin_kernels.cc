#include "custom_kernels/builtin_kernels.h"

#include <cstring>

#include "custom_kernels/builtin/crop_and_resize.h"
#include "custom_kernels/builtin/random.h"
#include "custom_kernels/builtin/segment_reduce.h"
#include "custom_kernels/builtin/where.h"
#include "custom_kernels/ffi_status.h"
#include "custom_kernels/kernel_target.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

absl::Span<const BuiltinKernel> BuiltinKernels() {
  static const auto* const kernels = new std::vector<BuiltinKernel>{
      {kKernelTarget,
       "",
       KernelTargetHandlers(),
       {},
       "kernel: string, global_size: i64[1..3], local_size: i64[0..3], scalars: u8[]",
       "A SPIR-V kernel that was registered from Python."},
      {"onexpu.crop_and_resize",
       "CropAndResize",
       {nullptr, nullptr, nullptr, CropAndResizeHandler},
       CropAndResizeTypes(),
       "extrapolation_value: f32, method: string ('bilinear' or 'nearest')",
       "Crops of images at boxes, resized."},
      {"onexpu.crop_and_resize_grad_image",
       "CropAndResizeGradImage",
       {nullptr, nullptr, nullptr, CropAndResizeGradImageHandler},
       CropAndResizeGradImageTypes(),
       "method: string ('bilinear' or 'nearest')",
       "The gradient of crop_and_resize by its images."},
      {"onexpu.crop_and_resize_grad_boxes",
       "CropAndResizeGradBoxes",
       {nullptr, nullptr, nullptr, CropAndResizeGradBoxesHandler},
       CropAndResizeGradBoxesTypes(),
       "",
       "The gradient of crop_and_resize by its boxes (bilinear)."},
      {"onexpu.random",
       "RandomUniform, RandomStandardNormal, TruncatedNormal, RandomUniformInt",
       {nullptr, nullptr, nullptr, RandomHandler},
       RandomTypes(),
       "distribution: string ('uniform', 'normal', 'truncated_normal' or 'integers'), key: i64, "
       "counter_low: i64, counter_high: i64, low: i64, high: i64",
       "Random numbers of a Philox stream."},
      {"onexpu.segment_check",
       "",
       {nullptr, nullptr, nullptr, SegmentCheckHandler},
       {"int32", "int64"},
       "data_rows: i64",
       "Whether numbers of segments ascend and indices are within bounds."},
      {"onexpu.segment_reduce",
       "SegmentSum, SegmentMean, SegmentProd, SegmentMin, SegmentMax, SparseSegmentSum, "
       "SparseSegmentMean, SparseSegmentSqrtN",
       {nullptr, nullptr, nullptr, SegmentReduceHandler},
       SegmentReduceTypes(),
       "combiner: string ('sum', 'mean', 'sqrtn', 'prod', 'min' or 'max')",
       "Reductions of runs of rows, or of rows that indices pick."},
      {"onexpu.where",
       "Where",
       {nullptr, nullptr, nullptr, WhereHandler},
       WhereTypes(),
       "",
       "Coordinates of the elements that are not zero; data-dependent size."},
  };
  return *kernels;
}

uint64_t CustomKernelLaunches() { return KernelLaunches(); }

absl::Status RegisterBuiltinKernels(const XLA_FFI_Api* api) {
  absl::Status status = RegisterKernelTargetTypes(api);
  if (!status.ok()) return status;
  for (const BuiltinKernel& kernel : BuiltinKernels()) {
    status = StatusFromFfi(
        api, ::xla::ffi::Ffi::RegisterStaticHandler(api, kernel.target, "xpu", kernel.bundle, 0));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace onexpu
