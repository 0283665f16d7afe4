// A kernel whose outputs have shapes that follow from numbers which the device computes: it
// launches, reads these numbers, and makes its outputs when they are on the host. No thread waits
// meanwhile.
#ifndef TF_PLUGIN_KERNELS_SUPPORT_DYNAMIC_SHAPE_KERNEL_H_
#define TF_PLUGIN_KERNELS_SUPPORT_DYNAMIC_SHAPE_KERNEL_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_plugin/kernels/support/launch.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"

namespace onexpu::tf_plugin {

class DynamicShapeKernel : public tensorflow::AsyncOpKernel {
 public:
  explicit DynamicShapeKernel(tensorflow::OpKernelConstruction* construction);

  void ComputeAsync(tensorflow::OpKernelContext* context, DoneCallback done) final;

 protected:
  // The type of the last result of a launch: `count` numbers, for Finish.
  static ResultType NumbersType(int64_t count);

  // Launches. What the launch gave, the numbers last; nothing if all outputs are set.
  virtual absl::StatusOr<std::vector<OwnedBuffer>> Start(tensorflow::OpKernelContext* context) = 0;

  // Sets the outputs. `results`: what Start gave, without the numbers.
  virtual absl::Status Finish(tensorflow::OpKernelContext* context,
                              std::vector<OwnedBuffer>& results,
                              absl::Span<const int64_t> numbers) = 0;

 private:
  std::atomic<uint64_t>& executions_;
};

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_KERNELS_SUPPORT_DYNAMIC_SHAPE_KERNEL_H_
