// Small XLA programs that kernels of this room run on buffers: joining and cutting, tests of
// values.
//
// They go the way of every other program: compiled by the core, run on the device, in its order.
// One is compiled per key and process, at its first use. Thread-safe.
#ifndef TF_PLUGIN_KERNELS_SUPPORT_DEVICE_PROGRAM_H_
#define TF_PLUGIN_KERNELS_SUPPORT_DEVICE_PROGRAM_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "xla/hlo/builder/xla_computation.h"

namespace onexpu::tf_plugin {

// Runs the program of `key` on the context's device; `build` makes its computation when it is new.
// A computation whose root is a tuple gives one result per element. Returns without waiting.
absl::StatusOr<std::vector<OwnedBuffer>> RunDeviceProgram(
    const tensorflow::OpKernelContext& context, const std::string& key,
    const std::function<absl::StatusOr<xla::XlaComputation>()>& build,
    absl::Span<PJRT_Buffer* const> operands);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_KERNELS_SUPPORT_DEVICE_PROGRAM_H_
