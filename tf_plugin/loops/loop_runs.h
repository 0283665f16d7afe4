// How often loops have run op by op without an error.
//
// A program clamps an index that is an error op by op. So a loop is compiled for operands (their
// shapes, and the values that the compiler must know) only after its ops have run for such operands
// and succeeded. The kernel of _XlaCompile starts a run; an op behind the call of the ops ends it,
// and never runs in a step that failed.
#ifndef TF_PLUGIN_LOOPS_LOOP_RUNS_H_
#define TF_PLUGIN_LOOPS_LOOP_RUNS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

namespace onexpu::tf_plugin {

// The runs of one cluster. Thread-safe.
class LoopRuns {
 public:
  // Those of the cluster with this name; all callers get the same object while one holds it.
  static std::shared_ptr<LoopRuns> Of(const std::string& cluster);

  // A run op by op starts in this step of TensorFlow's executor. `operands` is their hash.
  void Start(int64_t step, size_t operands);
  // The run of this step succeeded.
  void Succeed(int64_t step);
  // How many succeeded.
  int NumSuccesses(size_t operands) const;

 private:
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<int64_t, size_t> started_ ABSL_GUARDED_BY(mutex_);  // operands, by step
  absl::flat_hash_map<size_t, int> num_successes_ ABSL_GUARDED_BY(mutex_);
};

// Registers the pass that adds _OnexpuLoopRan to graphs. Call once, before graphs are made.
void RegisterLoopRunPass();

// Registers the kernel of _OnexpuLoopRan.
void RegisterLoopRunKernel();

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_LOOPS_LOOP_RUNS_H_
