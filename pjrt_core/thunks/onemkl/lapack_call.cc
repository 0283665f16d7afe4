#include "pjrt_core/thunks/onemkl/lapack_call.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "oneapi/mkl/lapack.hpp"
#include "pjrt_core/device/event_status.h"
#include "pjrt_core/device/library_errors.h"

namespace onexpu {
namespace {

// Inside a catch block.
absl::StatusOr<LapackFailures> CurrentFailures(int64_t count) {
  try {
    throw;
  } catch (const oneapi::mkl::lapack::batch_error& error) {
    return CheckFailures(error.ids(), count);
  } catch (const oneapi::mkl::lapack::computation_error&) {
    // Of a routine that knows no batches.
    LapackFailures failures(count);
    std::iota(failures.begin(), failures.end(), 0);
    return failures;
  } catch (...) {
    return CurrentLibraryError();
  }
}

}  // namespace

absl::StatusOr<LapackFailures> CheckFailures(LapackFailures reported, int64_t count) {
  std::sort(reported.begin(), reported.end());
  if (reported.empty() && count == 1) return LapackFailures{0};
  if (reported.empty()) {
    return absl::InternalError(absl::StrCat(
        "onexpu: oneMKL reported that a factorisation failed, but not for which of the ", count,
        " matrices of the batch; factor them one by one to find out"));
  }
  for (const int64_t matrix : {reported.front(), reported.back()}) {
    if (matrix >= 0 && matrix < count) continue;
    return absl::InternalError(
        absl::StrCat("onexpu: oneMKL reported that the factorisation of matrix ", matrix,
                     " failed, but the batch has ", count, " matrices"));
  }
  return reported;
}

absl::StatusOr<LapackFailures> RunLapack(sycl::queue& queue, int64_t count,
                                         absl::FunctionRef<sycl::event()> submit) {
  try {
    queue.wait();
    WaitUntilComplete(submit());
    queue.throw_asynchronous();
    return LapackFailures();
  } catch (...) {
    return CurrentFailures(count);
  }
}

LapackQueue::LapackQueue(const sycl::queue& like)
    : reported_(std::make_shared<std::vector<std::exception_ptr>>()),
      queue_(
          like.get_context(), like.get_device(),
          [reported = reported_](const sycl::exception_list& exceptions) {
            reported->insert(reported->end(), exceptions.begin(), exceptions.end());
          },
          sycl::property::queue::in_order()) {}

absl::StatusOr<LapackFailures> LapackQueue::Run(
    sycl::queue& before, int64_t count, absl::FunctionRef<void(sycl::queue& queue)> submit) {
  reported_->clear();
  try {
    before.wait();
    submit(queue_);
    queue_.wait_and_throw();
    if (!reported_->empty()) std::rethrow_exception(reported_->front());
    return LapackFailures();
  } catch (...) {
    return CurrentFailures(count);
  }
}

void CopyUnlessSame(const ExecuteContext& context, const program::Slice& from,
                    const program::Slice& to) {
  void* source = context.allocations.Resolve(from);
  void* destination = context.allocations.Resolve(to);
  if (source != destination) context.queue.memcpy(destination, source, to.size());
}

}  // namespace onexpu
