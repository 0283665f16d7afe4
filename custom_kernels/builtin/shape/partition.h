// XLA FFI handlers that put rows into partitions. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_SHAPE_PARTITION_H_
#define CUSTOM_KERNELS_BUILTIN_SHAPE_PARTITION_H_

#include "xla/ffi/api/c_api.h"

namespace onexpu {

// Operand: partitions s32[n], n > 0. Results: the order u32[n], for the other handler; and
// s64[partitions + 2] (pinned host): how many there are of each, how many are in none, and the
// first of these.
XLA_FFI_Error* PartitionHandler(XLA_FFI_CallFrame* frame);

// Operands: rows [n, ...], partitions, all of which are numbers of results, and their order.
// Results: the rows of each partition, in the order in which they were; what none has no elements.
XLA_FFI_Error* PartitionRowsHandler(XLA_FFI_CallFrame* frame);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_SHAPE_PARTITION_H_
