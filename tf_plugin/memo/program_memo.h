// The programs that a kernel ran for the operands it has seen, so that it can run them again
// without asking TensorFlow's compilation cache, which costs more than a small program.
//
// A run is watched where it enters the core: which of the op's operands the program took, and which
// of its results became outputs. Where these are all, running it again needs nothing else.
#ifndef TF_PLUGIN_MEMO_PROGRAM_MEMO_H_
#define TF_PLUGIN_MEMO_PROGRAM_MEMO_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tf_plugin/memo/instrumented_api.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace onexpu::tf_plugin {

// Of one kernel, which owns it. Thread-safe.
class ProgramMemo {
 public:
  // `table`: the core's, or one that counts runs.
  explicit ProgramMemo(const PJRT_Api& table) : table_(table) {}

  // Runs the program for the context's operands and sets the outputs, without waiting. False, and
  // nothing has happened, if it is not known. Errors of the run become the context's.
  bool Run(tensorflow::OpKernelContext& context);

  // After a run that went the long way, watched by `recorder`.
  void Remember(tensorflow::OpKernelContext& context, const ExecutionRecorder& recorder);

 private:
  struct Program;

  std::shared_ptr<const Program> Find(tensorflow::OpKernelContext& context);

  const PJRT_Api& table_;
  absl::Mutex mutex_;
  std::vector<std::shared_ptr<const Program>> programs_ ABSL_GUARDED_BY(mutex_);
  size_t next_ ABSL_GUARDED_BY(mutex_) = 0;  // the one to be replaced when there are many
};

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_MEMO_PROGRAM_MEMO_H_
