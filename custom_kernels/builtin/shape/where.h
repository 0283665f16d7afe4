// FFI handler of TensorFlow's Where: the first op whose result has a data-dependent size.
//
// (condition, of any type and up to 8 dimensions) -> (coordinates i64[number of elements, rank],
// count i64[] in pinned host memory): the leading `count` rows are the coordinates of the elements
// that are not zero, in row-major order.
#ifndef CUSTOM_KERNELS_BUILTIN_SHAPE_WHERE_H_
#define CUSTOM_KERNELS_BUILTIN_SHAPE_WHERE_H_

#include <string>
#include <vector>

#include "xla/ffi/api/c_api.h"

namespace onexpu {

XLA_FFI_Error* WhereHandler(XLA_FFI_CallFrame* frame);
std::vector<std::string> WhereTypes();

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_SHAPE_WHERE_H_
