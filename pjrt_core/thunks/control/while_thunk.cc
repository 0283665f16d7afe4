#include "pjrt_core/thunks/control/while_thunk.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/device/event_status.h"

namespace onexpu {

absl::StatusOr<std::unique_ptr<Thunk>> WhileThunk::Create(const program::Thunk& thunk,
                                                          const program::WhileThunk& loop,
                                                          const LoadContext& load) {
  std::unique_ptr<WhileThunk> result(new WhileThunk(thunk));
  ONEXPU_ASSIGN_OR_RETURN(result->body_, ThunkSequence::Create(*loop.body(), load));
  result->trip_count_ = loop.trip_count();
  if (result->trip_count_ >= 0) return result;
  if (loop.condition() == nullptr || loop.predicate() == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "onexpu: a loop without a trip count needs a condition and a predicate ", result->where()));
  }
  ONEXPU_ASSIGN_OR_RETURN(result->condition_, ThunkSequence::Create(*loop.condition(), load));
  result->predicate_ = *loop.predicate();
  return result;
}

size_t WhileThunk::scratch_bytes() const {
  return std::max(condition_.scratch_bytes(), body_.scratch_bytes());
}

int64_t WhileThunk::commands() const {
  constexpr int64_t kAtMost = int64_t{1} << 30;
  if (trip_count_ < 0) return 1;  // it blocks anyway
  const int64_t once = std::max<int64_t>(body_.commands(), 1);
  return trip_count_ > kAtMost / once ? kAtMost : trip_count_ * once;
}

bool WhileThunk::blocks() const {
  return trip_count_ < 0 || commands() > kMaxNonBlockingCommands || condition_.blocks() ||
         body_.blocks();
}

absl::Status WhileThunk::Execute(const ExecuteContext& context) {
  if (trip_count_ >= 0) {
    for (int64_t i = 0; i < trip_count_; ++i) {
      ONEXPU_RETURN_IF_ERROR(body_.Execute(context));
    }
    return absl::OkStatus();
  }
  while (true) {
    ONEXPU_RETURN_IF_ERROR(condition_.Execute(context));
    uint8_t predicate = 0;
    WaitUntilComplete(context.queue.memcpy(&predicate, context.allocations.Resolve(predicate_),
                                           sizeof(predicate)));
    context.queue.throw_asynchronous();
    if (predicate == 0) return absl::OkStatus();
    ONEXPU_RETURN_IF_ERROR(body_.Execute(context));
  }
}

}  // namespace onexpu
