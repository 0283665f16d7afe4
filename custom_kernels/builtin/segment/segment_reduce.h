// XLA FFI handlers of segment reductions. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_SEGMENT_SEGMENT_REDUCE_H_
#define CUSTOM_KERNELS_BUILTIN_SEGMENT_SEGMENT_REDUCE_H_

#include <string>
#include <vector>

#include "xla/ffi/api/c_api.h"

namespace onexpu {

// Operands: ids [n] in s32 or s64, and indices [n] of the same or the other type when there are
// any. Attribute data_rows: what the indices must be less than. Result: s64[4] (pinned host): is a
// number less than the one before, is an index outside, the first number, the last one.
XLA_FFI_Error* SegmentCheckHandler(XLA_FFI_CallFrame* frame);

// Operands: data [rows, ...], ids [n], and indices [n] of rows when there are any, else n = rows.
// Attribute combiner: 'sum', 'mean', 'sqrtn', 'prod', 'min' or 'max'. Result [segments, ...].
XLA_FFI_Error* SegmentReduceHandler(XLA_FFI_CallFrame* frame);

// As numpy calls them.
std::vector<std::string> SegmentReduceTypes();

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_SEGMENT_SEGMENT_REDUCE_H_
