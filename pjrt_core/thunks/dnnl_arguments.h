// Argument sets of one oneDNN primitive.
//
// On the CPU device oneDNN reads a memory object's handle when the primitive runs, not when it is
// submitted (measured): a set must neither change nor die while its execution is in flight. So each
// execution takes a set whose last execution has completed, and makes one only when all are in
// flight. Thread-safe.
#ifndef PJRT_CORE_THUNKS_DNNL_ARGUMENTS_H_
#define PJRT_CORE_THUNKS_DNNL_ARGUMENTS_H_

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "pjrt_core/thunks/dnnl_context.h"
#include "sycl/sycl.hpp"

namespace onexpu {

class DnnlArguments {
 public:
  struct Argument {
    int index;  // DNNL_ARG_*
    dnnl::memory::desc desc;
  };

  DnnlArguments(std::shared_ptr<DnnlContext> context, dnnl::primitive primitive,
                std::vector<Argument> arguments)
      : context_(std::move(context)),
        primitive_(std::move(primitive)),
        arguments_(std::move(arguments)) {}
  // Waits for executions in flight: the library still reads their sets.
  ~DnnlArguments();

  size_t size() const { return arguments_.size(); }

  // Submits the primitive over `addresses`, in the order of the arguments. Throws dnnl::error and
  // sycl::exception.
  void Execute(const sycl::queue& queue, absl::Span<void* const> addresses);

 private:
  struct Set {
    absl::InlinedVector<dnnl::memory, 8> memories;
    absl::InlinedVector<dnnl_exec_arg_t, 8> arguments;
    sycl::event last_use;
  };
  std::unique_ptr<Set> TakeSet() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<DnnlContext> context_;
  const dnnl::primitive primitive_;
  const std::vector<Argument> arguments_;
  absl::Mutex mutex_;
  std::deque<std::unique_ptr<Set>> sets_ ABSL_GUARDED_BY(mutex_);  // oldest use first
};

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_DNNL_ARGUMENTS_H_
