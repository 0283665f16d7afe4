// One oneDNN primitive and its arguments, of which one set is enough: a GPU's queue takes them when
// the primitive is submitted, and a host task, which reads them when it runs, is waited for.
// Thread-safe.
#ifndef PJRT_CORE_THUNKS_ONEDNN_DNNL_ARGUMENTS_H_
#define PJRT_CORE_THUNKS_ONEDNN_DNNL_ARGUMENTS_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "pjrt_core/thunks/onednn/dnnl_context.h"
#include "sycl/sycl.hpp"

namespace onexpu {

class DnnlArguments {
 public:
  struct Argument {
    int index;  // DNNL_ARG_*
    dnnl::memory::desc desc;
  };

  // Throws dnnl::error.
  DnnlArguments(std::shared_ptr<DnnlContext> context, dnnl::primitive primitive,
                const std::vector<Argument>& arguments);
  // Waits for the last execution: the library still reads the arguments.
  ~DnnlArguments();
  DnnlArguments(const DnnlArguments&) = delete;
  DnnlArguments& operator=(const DnnlArguments&) = delete;

  // Whether Finish waits: where the primitive is a host task (library_order.h). So does its
  // thunk (thunk.h).
  bool waits() const { return context_->runs_in_host_tasks(); }

  // Submits the primitive over `addresses`, in the order of the arguments. Nothing but primitives
  // may follow it before Finish. Both throw dnnl::error and sycl::exception.
  void Execute(const sycl::queue& queue, absl::Span<void* const> addresses);
  // Once after the last of several primitives that follow one another.
  void Finish();

 private:
  const std::shared_ptr<DnnlContext> context_;
  const dnnl::primitive primitive_;
  absl::Mutex mutex_;
  absl::InlinedVector<dnnl::memory, 8> memories_ ABSL_GUARDED_BY(mutex_);
  absl::InlinedVector<dnnl_exec_arg_t, 8> arguments_ ABSL_GUARDED_BY(mutex_);
  sycl::event last_use_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_ONEDNN_DNNL_ARGUMENTS_H_
