#include "pjrt_core/thunks/collective/collective_thunk.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/device/device.h"
#include "pjrt_core/device/other_device.h"
#include "pjrt_core/opencl/unobserved_command.h"

namespace onexpu {
namespace {

// The last command of the queue as others see it.
Rendezvous::Message MessageOf(sycl::queue& queue, const char* address) {
  return {address, queue.ext_oneapi_get_last_event()};
}

// The queue goes on when the others' work before their messages is done.
void WaitOnQueue(sycl::queue& queue, absl::Span<const Rendezvous::Message> messages, size_t own) {
  std::vector<sycl::event> events;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (i != own && messages[i].event.has_value()) events.push_back(*messages[i].event);
  }
  if (!events.empty()) queue.ext_oneapi_submit_barrier(events);
}

// Copies a part of a sender's data. If it comes through staging memory, the host waits for the
// chunks: the events are of another context.
absl::Status CopyPart(sycl::queue& queue, char* destination, const Rendezvous::Message& sender,
                      size_t offset, size_t bytes) {
  const size_t end = offset + bytes;
  while (offset < end) {
    size_t size = end - offset;
    if (!sender.chunks.empty()) {
      const size_t chunk = offset / kStagingChunkBytes;
      ONEXPU_RETURN_IF_ERROR(WaitForAnotherDevice(sender.chunks[chunk]));
      size = std::min(size, (chunk + 1) * kStagingChunkBytes - offset);
    }
    CopyUnobserved(queue, destination, sender.address + offset, size);
    destination += size;
    offset += size;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Thunk>> CollectiveThunk::Create(
    const program::Thunk& thunk, const program::CollectiveThunk& collective,
    const LoadContext& load) {
  std::unique_ptr<CollectiveThunk> result(new CollectiveThunk(thunk, collective));
  const uint32_t own = load.participant;
  const bool is_permutation = result->kind_ == program::CollectiveKind::Permute;
  std::vector<uint32_t>& group = result->group_;
  for (const program::ParticipantGroup* listed : *collective.groups()) {
    const auto& members = *listed->participants();
    if (is_permutation) {
      group.insert(group.end(), members.begin(), members.end());
    } else if (std::find(members.begin(), members.end(), own) != members.end()) {
      group.assign(members.begin(), members.end());
    }
  }
  if (is_permutation) {
    std::sort(group.begin(), group.end());
    group.erase(std::unique(group.begin(), group.end()), group.end());
    result->sends_ = false;
    for (const program::ParticipantGroup* pair : *collective.groups()) {
      if (pair->participants()->Get(0) == own) result->sends_ = true;
      if (pair->participants()->Get(1) != own) continue;
      result->sender_ =
          std::find(group.begin(), group.end(), pair->participants()->Get(0)) - group.begin();
    }
  }
  const auto found = std::find(group.begin(), group.end(), own);
  if (found == group.end()) {
    // A participant that neither sends nor receives gets zeros and joins no rendezvous.
    group.clear();
    if (is_permutation) return result;
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: participant ", own, " is in no group ", result->where()));
  }
  result->place_ = found - group.begin();
  if (result->kind_ == program::CollectiveKind::Broadcast) result->sends_ = result->place_ == 0;
  return result;
}

absl::StatusOr<Rendezvous::Message> CollectiveThunk::Send(const ExecuteContext& context,
                                                          const char* source) const {
  sycl::queue& queue = context.queue;
  if (context.rendezvous->copies_directly()) return MessageOf(queue, source);
  Rendezvous::Message message;
  if (!sends_) return message;
  const size_t bytes = source_.size();
  ONEXPU_ASSIGN_OR_RETURN(message.staging, context.device->AllocateStaging(bytes));
  context.device->UseStaging(*message.staging);
  message.address = message.staging->address;
  for (size_t offset = 0; offset < bytes; offset += kStagingChunkBytes) {
    message.chunks.push_back(queue.memcpy(message.staging->address + offset, source + offset,
                                          std::min(kStagingChunkBytes, bytes - offset)));
  }
  return message;
}

absl::Status CollectiveThunk::Receive(sycl::queue& queue, char* destination,
                                      absl::Span<const Rendezvous::Message> senders) const {
  const size_t bytes = source_.size();
  switch (kind_) {
    case program::CollectiveKind::AllGather:
      for (size_t i = 0; i < senders.size(); ++i) {
        ONEXPU_RETURN_IF_ERROR(CopyPart(queue, destination + i * bytes, senders[i], 0, bytes));
      }
      return absl::OkStatus();
    case program::CollectiveKind::AllToAll: {
      const size_t part = bytes / senders.size();
      for (size_t i = 0; i < senders.size(); ++i) {
        ONEXPU_RETURN_IF_ERROR(
            CopyPart(queue, destination + i * part, senders[i], place_ * part, part));
      }
      return absl::OkStatus();
    }
    case program::CollectiveKind::Broadcast:
      return CopyPart(queue, destination, senders.front(), 0, bytes);
    case program::CollectiveKind::Permute:
      if (sender_ >= 0) return CopyPart(queue, destination, senders[sender_], 0, bytes);
      SetUnobserved(queue, destination, 0, bytes);
      return absl::OkStatus();
  }
  return absl::InternalError("onexpu: an unknown kind of collective");
}

absl::Status CollectiveThunk::Execute(const ExecuteContext& context) {
  if (destination_.size() == 0) return absl::OkStatus();
  sycl::queue& queue = context.queue;
  char* const destination = static_cast<char*>(context.allocations.Resolve(destination_));
  if (group_.empty()) return Receive(queue, destination, {});
  if (context.rendezvous == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        "onexpu: this program must be run on all of its ", group_.size(), " devices at once"));
  }
  const char* const source = static_cast<const char*>(context.allocations.Resolve(source_));
  Rendezvous::Message message;
  ONEXPU_RETURN_IF_ERROR(CatchLibraryErrors([&]() -> absl::Status {
    ONEXPU_ASSIGN_OR_RETURN(message, Send(context, source));
    return absl::OkStatus();
  }));
  ONEXPU_ASSIGN_OR_RETURN(std::vector<Rendezvous::Message> sent,
                          context.rendezvous->Meet(key_, Rendezvous::Purpose::kShare, group_,
                                                   place_, std::move(message)));
  const bool directly = context.rendezvous->copies_directly();
  if (!directly) {
    for (const Rendezvous::Message& other : sent) {
      if (other.staging != nullptr) context.device->UseStaging(*other.staging);
    }
    sent[place_] = {.address = source};  // its own data does not come back from the host
  }
  // From here on others may read this participant's memory: it must not go on before they are done,
  // whatever happens.
  const absl::Status received = CatchLibraryErrors([&] {
    if (directly) WaitOnQueue(queue, sent, place_);
    return Receive(queue, destination, sent);
  });
  ONEXPU_ASSIGN_OR_RETURN(
      const std::vector<Rendezvous::Message> done,
      context.rendezvous->Meet(key_, Rendezvous::Purpose::kFinish, group_, place_,
                               directly ? MessageOf(queue, nullptr) : Rendezvous::Message{}));
  if (directly) WaitOnQueue(queue, done, place_);
  return received;
}

}  // namespace onexpu
