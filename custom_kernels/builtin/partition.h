// XLA FFI handler of the order that puts rows into partitions. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_PARTITION_H_
#define CUSTOM_KERNELS_BUILTIN_PARTITION_H_

#include "xla/ffi/api/c_api.h"

namespace onexpu {

// Operand: partitions s32[n], n > 0. Results: places u32[n], those of partition 0 first, in each as
// they were; and s64[partitions + 2] (pinned host): how many there are of each, how many are in
// none, and the first of these.
XLA_FFI_Error* PartitionHandler(XLA_FFI_CallFrame* frame);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_PARTITION_H_
