// Calls a handler that the core knows by name on PJRT buffers, in the order of the device's work.
#ifndef TF_PLUGIN_KERNELS_SUPPORT_LAUNCH_H_
#define TF_PLUGIN_KERNELS_SUPPORT_LAUNCH_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "pjrt_core/c_api/extensions/launch.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"

namespace onexpu::tf_plugin {

struct ResultType {
  tensorflow::DataType type;
  tensorflow::TensorShape shape;
  OnexpuMemoryKind memory = kOnexpuMemoryDevice;
  // The operand whose memory becomes this result, and which must have no other owner; or -1.
  int alias_operand = -1;
};

// Returns at once; the results are defined when the device gets there.
absl::StatusOr<std::vector<OwnedBuffer>> Launch(const tensorflow::OpKernelContext& context,
                                                absl::string_view handler,
                                                absl::Span<PJRT_Buffer* const> operands,
                                                absl::Span<const ResultType> results,
                                                const XLA_FFI_Attrs& attributes);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_KERNELS_SUPPORT_LAUNCH_H_
