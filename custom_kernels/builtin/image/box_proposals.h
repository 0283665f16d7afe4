// XLA FFI handler of region proposals. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_IMAGE_BOX_PROPOSALS_H_
#define CUSTOM_KERNELS_BUILTIN_IMAGE_BOX_PROPOSALS_H_

#include "xla/ffi/api/c_api.h"

namespace onexpu {

// The proposals of a region proposal network (Ren et al. 2015, arXiv:1506.01497, section 3.1), as
// TensorFlow's GenerateBoundingBoxProposals makes them.
//
// Operands: scores f32[images, height, width, anchors]; deltas f32[images, height, width,
// 4 * anchors] (dy, dx, dh, dw), in heights and widths of their anchors, of sizes the logarithm;
// image_info f32[images, 5], of which are used the height, the width and the scale; anchors
// f32[height, width, 4 * anchors] (y1, x1, y2, x2). Attributes: nms_threshold and min_size, f32;
// pre_nms_topn. Results: boxes f32[images, n, 4] (y1, x1, y2, x2) and their scores f32[images, n].
//
// Of the pre_nms_topn boxes of highest scores of an image, which are clipped to it, those are taken
// in descending order whose sides are at least min_size times the scale and which overlap none that
// was taken by more than nms_threshold of what both cover: n at most, with zeros behind. Equal
// scores come as they are given, NaN last.
XLA_FFI_Error* BoxProposalsHandler(XLA_FFI_CallFrame* frame);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_IMAGE_BOX_PROPOSALS_H_
