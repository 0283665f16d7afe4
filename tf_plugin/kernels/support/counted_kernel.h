// The base of kernels that launch or fail on the calling thread: one method that returns a status,
// and a count of executions for onexpu.placement_report().
#ifndef TF_PLUGIN_KERNELS_SUPPORT_COUNTED_KERNEL_H_
#define TF_PLUGIN_KERNELS_SUPPORT_COUNTED_KERNEL_H_

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_plugin/core/placement_counters.h"

namespace onexpu::tf_plugin {

class CountedKernel : public tensorflow::OpKernel {
 public:
  explicit CountedKernel(tensorflow::OpKernelConstruction* construction,
                         Route route = Route::kSyclKernel)
      : OpKernel(construction), executions_(PlacementCounter(route, type_string())) {}

  void Compute(tensorflow::OpKernelContext* context) final {
    OP_REQUIRES_OK(context, Run(context));
    Count(executions_);
  }

 protected:
  // Sets all outputs of `context`, or returns an error. Several threads may call it at once.
  virtual absl::Status Run(tensorflow::OpKernelContext* context) const = 0;

 private:
  std::atomic<uint64_t>& executions_;
};

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_KERNELS_SUPPORT_COUNTED_KERNEL_H_
