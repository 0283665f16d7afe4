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
  // For the context's device, and all others of its kind.
  static absl::StatusOr<CompiledProgram> Compile(const tensorflow::OpKernelContext& context,
                                                 const xla::HloModuleProto& module);

  // Whether `device` is of the kind that the program was compiled for.
  bool IsFor(const PJRT_Device* device) const;

  // Runs on the context's device, without waiting, and donates nothing. A root that is a tuple
  // gives one result for each element.
  absl::StatusOr<absl::InlinedVector<OwnedBuffer, 4>> Run(
      const tensorflow::OpKernelContext& context, absl::Span<PJRT_Buffer* const> operands) const;

 private:
  PJRT_LoadedExecutable* executable_ = nullptr;
  absl::Span<PJRT_Device* const> devices_;  // the executable's
  size_t num_outputs_ = 0;
};

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_KERNELS_SUPPORT_COMPILED_PROGRAM_H_
