// Ways to run an op that take the sizes of its operands as arguments, so that an op that runs alone
// on a new shape needs no compilation.
#ifndef TF_PLUGIN_ANY_SHAPE_ANY_SHAPE_RUN_H_
#define TF_PLUGIN_ANY_SHAPE_ANY_SHAPE_RUN_H_

#include <optional>

#include "absl/status/status.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace onexpu::tf_plugin {

// Of one kernel, which owns it. Thread-safe.
class AnyShapeRun {
 public:
  virtual ~AnyShapeRun() = default;

  // Runs the op on the context's operands and sets the outputs, without waiting. False, and nothing
  // has happened, if this way is not for them. Errors of the run become the context's.
  bool Run(tensorflow::OpKernelContext& context) {
    std::optional<absl::Status> status = TryRun(context);
    // A program may take what a kernel refuses: operands above the largest allocation of a device.
    if (!status.has_value() || absl::IsUnimplemented(*status)) return false;
    if (!status->ok()) context.CtxFailure(__FILE__, __LINE__, *status);
    return true;
  }

 private:
  // Nothing if this way is not for the operands. No output is set then, nor with UNIMPLEMENTED.
  virtual std::optional<absl::Status> TryRun(tensorflow::OpKernelContext& context) = 0;
};

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_ANY_SHAPE_ANY_SHAPE_RUN_H_
