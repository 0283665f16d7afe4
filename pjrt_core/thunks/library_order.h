// The place of a library's asynchronous routine among a queue's commands, spelt out in events.
//
// oneMKL computes on the CPU device in SYCL host tasks. An in-order queue should keep them behind
// its commands, and does not always: with work submitted from several threads, some five of 10,000
// triangular solves ran before or beside the copy in front of them (SYCL 2026.1).
#ifndef PJRT_CORE_THUNKS_LIBRARY_ORDER_H_
#define PJRT_CORE_THUNKS_LIBRARY_ORDER_H_

#include <utility>
#include <vector>

#include "sycl/sycl.hpp"

namespace onexpu {

// `submit` takes the events that the routine has to wait for and returns the routine's own, which
// what comes after waits for. The routine may go to another queue. Throws what `submit` throws.
template <typename Submit>
void SubmitInOrder(sycl::queue& queue, Submit&& submit) {
  const std::vector<sycl::event> before = {queue.ext_oneapi_submit_barrier()};
  queue.ext_oneapi_submit_barrier({std::forward<Submit>(submit)(before)});
}

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_LIBRARY_ORDER_H_
