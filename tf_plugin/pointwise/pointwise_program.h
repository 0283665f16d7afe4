// Runs pointwise ops by resizable Programs: one for each op, its attributes and which operands are
// broadcast, whatever their sizes. An op that runs alone on a new shape needs no compilation.
#ifndef TF_PLUGIN_POINTWISE_POINTWISE_PROGRAM_H_
#define TF_PLUGIN_POINTWISE_POINTWISE_PROGRAM_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_plugin/kernels/support/compiled_program.h"
#include "tf_plugin/pointwise/pointwise_ops.h"

namespace onexpu::tf_plugin {

// Of one kernel, which owns it. Thread-safe.
class PointwiseProgram {
 public:
  explicit PointwiseProgram(const tensorflow::OpKernelConstruction& construction);

  // Runs the op on the context's operands and sets the outputs, without waiting. False, and nothing
  // has happened, if no resizable Program is for them. Errors of the run become the context's.
  bool Run(tensorflow::OpKernelContext& context);

 private:
  // Null where there is none.
  std::shared_ptr<const CompiledProgram> Find(const tensorflow::OpKernelContext& context,
                                              const std::string& letters);

  std::optional<PointwiseOperands> operands_;  // nothing: this op runs in other ways
  absl::Mutex mutex_;
  // By the letters of OperandExtents.
  std::vector<std::pair<std::string, std::shared_ptr<const CompiledProgram>>> programs_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_POINTWISE_POINTWISE_PROGRAM_H_
