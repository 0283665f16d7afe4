#include "pjrt_core/thunks/collective/rendezvous.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace onexpu {

absl::StatusOr<std::vector<Rendezvous::Message>> Rendezvous::Meet(const void* key, Purpose purpose,
                                                                  absl::Span<const uint32_t> group,
                                                                  size_t place, Message message) {
  absl::MutexLock lock(&mutex_);
  const auto it = meetings_.try_emplace(Key(key, purpose, group.front())).first;
  Meeting& meeting = it->second;
  meeting.messages.resize(group.size());
  meeting.has_come.resize(group.size(), false);
  meeting.messages[place] = std::move(message);
  meeting.has_come[place] = true;
  changed_.SignalAll();
  while (!HasEnded(meeting, purpose, group)) changed_.Wait(&mutex_);

  const absl::Status failure = meeting.failure;
  std::vector<Message> messages = meeting.messages;
  if (++meeting.taken == group.size()) meetings_.erase(it);
  if (!failure.ok()) return failure;
  return messages;
}

bool Rendezvous::HasEnded(Meeting& meeting, Purpose purpose, absl::Span<const uint32_t> group) {
  // A participant that gave up has released its memory: the last to arrive must not use it.
  if (!meeting.failure.ok()) return true;
  bool is_complete = true;
  for (size_t i = 0; i < group.size(); ++i) {
    if (meeting.has_come[i]) continue;
    if (purpose == Purpose::kFinish) {
      is_complete = is_complete && has_left_[group[i]];
      continue;
    }
    is_complete = false;
    if (has_left_[group[i]] && failure_.ok()) {
      meeting.failure =
          absl::InternalError(absl::StrCat("onexpu: participant ", group[i],
                                           " has ended its run without this exchange: the control "
                                           "flow of all participants must be the same"));
    }
  }
  if (is_complete) return true;
  if (purpose == Purpose::kShare && !failure_.ok()) meeting.failure = failure_;
  if (!meeting.failure.ok()) changed_.SignalAll();
  return !meeting.failure.ok();
}

void Rendezvous::Leave(uint32_t participant, const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  has_left_[participant] = true;
  if (failure_.ok() && !status.ok()) failure_ = status;
  changed_.SignalAll();
}

}  // namespace onexpu
