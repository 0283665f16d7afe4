#include "pjrt_core/thunks/onemkl/lapack_host_call.h"

#include <array>

#include "pjrt_core/base/status_macros.h"

namespace onexpu {

absl::StatusOr<std::unique_ptr<const LapackHostCall>> LapackHostCall::Create(
    const LoadContext& load, std::unique_ptr<const LapackBatch> batch, Arrays arrays) {
  if (batch == nullptr) return nullptr;
  ONEXPU_ASSIGN_OR_RETURN(sycl::kernel kernel, load.host_call_kernel());
  return std::unique_ptr<const LapackHostCall>(
      new LapackHostCall(std::move(batch), std::move(arrays), std::move(kernel)));
}

void LapackHostCall::Submit(const ExecuteContext& context) const {
  std::array<void*, 4> memory = {};
  for (size_t i = 0; i < arrays_.size(); ++i) memory[i] = context.allocations.Resolve(arrays_[i]);
  const auto& [operand, result, second, third] = memory;
  if (context.caller != nullptr) {
    // Commands of the caller's queue are complete once they have been submitted.
    LapackBatch::Run(batch_.get(), operand, result, second, third, nullptr, context.scratch);
    return;
  }
  host_call_.Submit(context.queue, context.trace, LapackBatch::Run, batch_.get(),
                    {operand, result, second, third, nullptr, context.scratch});
}

}  // namespace onexpu
