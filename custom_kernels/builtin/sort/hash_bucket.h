// XLA FFI handler that puts integers into buckets by a hash of their decimal text. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_SORT_HASH_BUCKET_H_
#define CUSTOM_KERNELS_BUILTIN_SORT_HASH_BUCKET_H_

#include <string>
#include <vector>

#include "xla/ffi/api/ffi.h"

namespace onexpu {

// Operand: integers of any shape. Attribute: buckets, at least 1. Result: s64 of that shape, in
// [0, buckets): what TensorFlow's StringToHashBucketFast gives for the integers as text.
// INVALID_ARGUMENT for a result that does not fit, UNIMPLEMENTED for other types.
XLA_FFI_Error* HashBucketHandler(XLA_FFI_CallFrame* frame);

std::vector<std::string> HashBucketTypes();

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_SORT_HASH_BUCKET_H_
