// TFRT's names of TSL's asynchronous values; TFRT's own header wants LLVM's.
#ifndef ONEXPU_BAZEL_TF_STUBS_TFRT_SUPPORT_FORWARD_DECLS_H_
#define ONEXPU_BAZEL_TF_STUBS_TFRT_SUPPORT_FORWARD_DECLS_H_

#include "xla/tsl/concurrency/async_value.h"
#include "xla/tsl/concurrency/ref_count.h"

namespace tfrt {

using AsyncValue = tsl::AsyncValue;

template <typename T>
using RCReference = tsl::RCReference<T>;

}  // namespace tfrt

#endif  // ONEXPU_BAZEL_TF_STUBS_TFRT_SUPPORT_FORWARD_DECLS_H_
