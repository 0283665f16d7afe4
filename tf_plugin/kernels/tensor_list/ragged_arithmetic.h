// Sums and zeros of ragged tensors in variants, in host memory.
//
// TensorFlow has no device form of such a variant: a copy between devices shares its tensors, and
// every kernel that makes or reads one runs on the host.
#ifndef TF_PLUGIN_KERNELS_TENSOR_LIST_RAGGED_ARITHMETIC_H_
#define TF_PLUGIN_KERNELS_TENSOR_LIST_RAGGED_ARITHMETIC_H_

#include "absl/status/statusor.h"
#include "tensorflow/core/kernels/ragged_tensor_variant.h"

namespace onexpu::tf_plugin {

// The sum of two ragged tensors. INVALID_ARGUMENT if their types or row splits differ.
absl::StatusOr<tensorflow::RaggedTensorVariant> AddRagged(const tensorflow::RaggedTensorVariant& a,
                                                          const tensorflow::RaggedTensorVariant& b);

// Zeros with the row splits of `ragged`.
absl::StatusOr<tensorflow::RaggedTensorVariant> ZerosOfRagged(
    const tensorflow::RaggedTensorVariant& ragged);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_KERNELS_TENSOR_LIST_RAGGED_ARITHMETIC_H_
