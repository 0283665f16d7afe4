// XLA FFI handler of the gradients of segment reductions of rows that indices pick. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_SEGMENT_SEGMENT_GRAD_H_
#define CUSTOM_KERNELS_BUILTIN_SEGMENT_SEGMENT_GRAD_H_

#include <string>
#include <vector>

#include "xla/ffi/api/c_api.h"

namespace onexpu {

// Operands: slopes of the segments [segments, ...], indices [n] of rows and numbers of segments
// [n], each in s32 or s64, n > 0. Attributes: rows, what the indices must be less than; combiner
// ('sum', 'mean' or 'sqrtn'). Results: the slopes of the rows that have indices, by rows, [n, ...],
// of which the beginning is filled; which rows these are, [n] of the indices' type, likewise; and
// s64[2] (pinned host): how many they are, and whether an index or a segment is outside. If one is,
// its place is left out.
XLA_FFI_Error* SegmentGradHandler(XLA_FFI_CallFrame* frame);

// As numpy calls them.
std::vector<std::string> SegmentGradTypes();

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_SEGMENT_SEGMENT_GRAD_H_
