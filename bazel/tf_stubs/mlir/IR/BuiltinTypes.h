// See BuiltinOps.h, which holds every stub of MLIR.
#ifndef ONEXPU_BAZEL_TF_STUBS_MLIR_IR_BUILTINTYPES_H_
#define ONEXPU_BAZEL_TF_STUBS_MLIR_IR_BUILTINTYPES_H_

#include "mlir/IR/BuiltinOps.h"

#endif  // ONEXPU_BAZEL_TF_STUBS_MLIR_IR_BUILTINTYPES_H_
