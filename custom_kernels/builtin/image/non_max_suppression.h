// XLA FFI handler of non-maximum suppression. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_IMAGE_NON_MAX_SUPPRESSION_H_
#define CUSTOM_KERNELS_BUILTIN_IMAGE_NON_MAX_SUPPRESSION_H_

#include "xla/ffi/api/c_api.h"

namespace onexpu {

// Operands: boxes f32[n, 4] by two opposite corners (y, x, y, x), scores f32[n]. Attributes:
// iou_threshold and score_threshold, f32. Results: s32[m] boxes in descending order of scores,
// those of equal scores as they come, with zeros behind; how many there are, s32 on the device, and
// the same once more, s64[1] (pinned host).
//
// A box is taken if its score is above score_threshold and none that was taken covers it: the area
// that both have, over the area that either has, is at most iou_threshold. m are taken at most.
XLA_FFI_Error* NonMaxSuppressionHandler(XLA_FFI_CallFrame* frame);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_IMAGE_NON_MAX_SUPPRESSION_H_
