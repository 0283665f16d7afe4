#include "pjrt_core/thunks/lapack_failures.h"

#include <algorithm>
#include <numeric>

#include "oneapi/mkl/lapack.hpp"
#include "pjrt_core/thunks/library_errors.h"

namespace onexpu {

absl::StatusOr<LapackFailures> WaitForLapack(int64_t count,
                                             absl::FunctionRef<sycl::event()> submit) {
  try {
    submit().wait_and_throw();
    return LapackFailures();
  } catch (const oneapi::mkl::lapack::batch_error& error) {
    LapackFailures failures = error.ids();
    std::sort(failures.begin(), failures.end());
    return failures;
  } catch (const oneapi::mkl::lapack::computation_error&) {
    // Of a routine that knows no batches.
    LapackFailures failures(count);
    std::iota(failures.begin(), failures.end(), 0);
    return failures;
  } catch (...) {
    return CurrentLibraryError();
  }
}

}  // namespace onexpu
