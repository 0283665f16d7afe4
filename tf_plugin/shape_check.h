// The checks of an op's shape function, before its translation to XLA sees the operands.
//
// Translations count on them, and some end the process where they do not hold. A graph has them
// behind it when it is built; an op that runs alone, or whose shapes a graph does not know, does
// not.
#ifndef TF_PLUGIN_SHAPE_CHECK_H_
#define TF_PLUGIN_SHAPE_CHECK_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace onexpu::tf_plugin {

// Of one kernel, which owns it. Any threads may check at the same time. What has been found right
// once is not looked at again. Ops of variables are not checked: their translations do it.
class ShapeCheck {
 public:
  explicit ShapeCheck(const tensorflow::OpKernelConstruction& construction);

  absl::Status Check(tensorflow::OpKernelContext& context);

 private:
  const int graph_def_version_;
  absl::Mutex mutex_;
  absl::flat_hash_set<uint64_t> right_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_SHAPE_CHECK_H_
