// FFI handlers of TensorFlow's CropAndResize and its gradients. The semantic is in
// crop_and_resize.cpp.
#ifndef CUSTOM_KERNELS_BUILTIN_IMAGE_CROP_AND_RESIZE_H_
#define CUSTOM_KERNELS_BUILTIN_IMAGE_CROP_AND_RESIZE_H_

#include <string>
#include <vector>

#include "xla/ffi/api/c_api.h"

namespace onexpu {

// (boxes f32[n, 4], box_index i32[n]) -> verdict i64[2]: is an index outside of the batch, is a
// coordinate not finite. The others read nothing that a wrong index would point at.
XLA_FFI_Error* CropAndResizeCheckHandler(XLA_FFI_CallFrame* frame);
// (image [batch, height, width, depth], boxes f32[n, 4], box_index i32[n]) -> crops f32[n, h, w,
// depth]
XLA_FFI_Error* CropAndResizeHandler(XLA_FFI_CallFrame* frame);
// (gradient f32[n, h, w, depth], boxes, box_index) -> image gradient [batch, height, width, depth]
XLA_FFI_Error* CropAndResizeGradImageHandler(XLA_FFI_CallFrame* frame);
// (gradient f32[n, h, w, depth], image, boxes, box_index) -> boxes gradient f32[n, 4]
XLA_FFI_Error* CropAndResizeGradBoxesHandler(XLA_FFI_CallFrame* frame);

// Types of the image, or of its gradient, as numpy calls them.
std::vector<std::string> CropAndResizeTypes();
std::vector<std::string> CropAndResizeGradImageTypes();
std::vector<std::string> CropAndResizeGradBoxesTypes();

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_IMAGE_CROP_AND_RESIZE_H_
