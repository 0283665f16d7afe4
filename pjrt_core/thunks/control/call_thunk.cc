#include "pjrt_core/thunks/control/call_thunk.h"

#include <utility>

#include "pjrt_core/base/status_macros.h"

namespace onexpu {

absl::StatusOr<std::unique_ptr<Thunk>> CallThunk::Create(const program::Thunk& thunk,
                                                         const program::CallThunk& call,
                                                         const LoadContext& load) {
  ONEXPU_ASSIGN_OR_RETURN(ThunkSequence body, ThunkSequence::Create(*call.body(), load));
  return std::unique_ptr<Thunk>(new CallThunk(thunk, std::move(body)));
}

}  // namespace onexpu
