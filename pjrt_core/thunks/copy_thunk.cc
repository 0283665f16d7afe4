#include "pjrt_core/thunks/copy_thunk.h"

namespace onexpu {

absl::StatusOr<std::unique_ptr<Thunk>> CopyThunk::Create(const program::Thunk& thunk,
                                                         const program::CopyThunk& copy,
                                                         const LoadContext& load) {
  return std::unique_ptr<Thunk>(new CopyThunk(thunk, copy));
}

absl::Status CopyThunk::Execute(const ExecuteContext& context) {
  void* const destination = context.allocations.Resolve(destination_);
  const void* const source = context.allocations.Resolve(source_);
  // In place already: an aliased parameter.
  if (destination == source || source_.size() == 0) return absl::OkStatus();
  SubmitCommand(context.queue, context.trace, [&](sycl::handler& handler) {
    handler.memcpy(destination, source, source_.size());
  });
  return absl::OkStatus();
}

}  // namespace onexpu
