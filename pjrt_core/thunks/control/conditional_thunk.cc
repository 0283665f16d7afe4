#include "pjrt_core/thunks/control/conditional_thunk.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "pjrt_core/base/status_macros.h"

namespace onexpu {

absl::StatusOr<std::unique_ptr<Thunk>> ConditionalThunk::Create(
    const program::Thunk& thunk, const program::ConditionalThunk& conditional,
    const LoadContext& load) {
  std::unique_ptr<ConditionalThunk> result(new ConditionalThunk(thunk));
  result->selector_ = *conditional.selector();
  result->selector_is_pred_ = conditional.selector_is_pred();
  for (const program::ThunkSequence* branch : *conditional.branches()) {
    ONEXPU_ASSIGN_OR_RETURN(ThunkSequence sequence, ThunkSequence::Create(*branch, load));
    result->branches_.push_back(std::move(sequence));
  }
  const size_t least = result->selector_is_pred_ ? 2 : 1;
  if (result->branches_.size() < least) {
    return absl::InvalidArgumentError(absl::StrCat(
        "onexpu: a conditional with ", result->branches_.size(), " branches ", result->where()));
  }
  return result;
}

size_t ConditionalThunk::scratch_bytes() const {
  size_t bytes = 0;
  for (const ThunkSequence& branch : branches_) bytes = std::max(bytes, branch.scratch_bytes());
  return bytes;
}

absl::Status ConditionalThunk::Execute(const ExecuteContext& context) {
  const void* const selector = context.allocations.Resolve(selector_);
  if (selector_is_pred_) {
    uint8_t predicate = 0;
    context.queue.memcpy(&predicate, selector, sizeof(predicate)).wait_and_throw();
    return branches_[predicate != 0 ? 0 : 1].Execute(context);
  }
  int32_t index = 0;
  context.queue.memcpy(&index, selector, sizeof(index)).wait_and_throw();
  const int32_t last = static_cast<int32_t>(branches_.size()) - 1;
  if (index < 0 || index > last) index = last;
  return branches_[index].Execute(context);
}

}  // namespace onexpu
