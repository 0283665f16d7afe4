// A program that the core compiled for the plug-in itself, and its runs. It stays for the life of
// the process. Thread-safe.
#ifndef TF_PLUGIN_KERNELS_SUPPORT_COMPILED_PROGRAM_H_
#define TF_PLUGIN_KERNELS_SUPPORT_COMPILED_PROGRAM_H_

#include <cstddef>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "xla/pjrt/c/pjrt_c_api.h"
#include "xla/service/hlo.pb.h"

namespace onexpu::tf_plugin {

class CompiledProgram {
 public:
  // For every device of TensorFlow's client: which one is chosen when it runs.
  static absl::StatusOr<CompiledProgram> Compile(const xla::HloModuleProto& module);

  // Runs on the context's device, without waiting, and donates nothing. A root that is a tuple
  // gives one result for each element.
  absl::StatusOr<absl::InlinedVector<OwnedBuffer, 4>> Run(
      const tensorflow::OpKernelContext& context, absl::Span<PJRT_Buffer* const> operands) const;

 private:
  PJRT_LoadedExecutable* executable_ = nullptr;
  size_t num_outputs_ = 0;
};

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_KERNELS_SUPPORT_COMPILED_PROGRAM_H_
