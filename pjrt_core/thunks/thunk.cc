#include "pjrt_core/thunks/thunk.h"

#include <algorithm>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/thunks/command_throttle.h"

namespace onexpu {
namespace {

absl::Status Located(const absl::Status& status, const Thunk& thunk) {
  // A thunk inside a loop or a branch has said where it was.
  if (absl::StrContains(status.message(), "(op ")) return status;
  absl::Status located(status.code(), absl::StrCat(status.message(), " ", thunk.where()));
  status.ForEachPayload(
      [&](absl::string_view url, const absl::Cord& payload) { located.SetPayload(url, payload); });
  return located;
}

absl::Status ExecuteTraced(Thunk& thunk, const ExecuteContext& context) {
  const RunTrace::Mark mark = context.trace->Begin();
  absl::Status status = thunk.Execute(context);
  context.trace->End(mark, {.name = thunk.label(),
                            .kind = std::string(thunk.kind()),
                            .instruction = thunk.op_name(),
                            .source = thunk.source(),
                            .work_items = thunk.work_items()});
  return status;
}

}  // namespace

std::string Thunk::label() const { return absl::StrCat(kind(), " ", op_name_); }

std::string Thunk::where() const {
  if (source_.empty()) return absl::StrCat("(op ", op_name_, ")");
  return absl::StrCat("(op ", op_name_, ", ", source_, ")");
}

absl::StatusOr<ThunkSequence> ThunkSequence::Create(const program::ThunkSequence& sequence,
                                                    const LoadContext& context) {
  ThunkSequence result;
  result.thunks_.reserve(sequence.thunks()->size());
  for (const program::Thunk* thunk : *sequence.thunks()) {
    ONEXPU_ASSIGN_OR_RETURN(std::unique_ptr<Thunk> created, CreateThunk(*thunk, context));
    result.scratch_bytes_ = std::max(result.scratch_bytes_, created->scratch_bytes());
    result.blocks_ = result.blocks_ || created->blocks();
    result.waits_for_library_ = result.waits_for_library_ || created->waits_for_library();
    result.follows_queue_ = result.follows_queue_ && created->follows_queue();
    result.commands_ += created->commands();
    result.thunks_.push_back(std::move(created));
  }
  result.blocks_ = result.blocks_ || result.commands_ > kMaxNonBlockingCommands;
  result.is_one_command_ = result.size() == 1 && (result.thunks_.front()->kind() == "kernel" ||
                                                  result.thunks_.front()->kind() == "custom_call");
  return result;
}

absl::Status ThunkSequence::Execute(const ExecuteContext& context) const {
  for (const std::unique_ptr<Thunk>& thunk : thunks_) {
    if (context.current_op != nullptr) {
      context.current_op->store(thunk->op_name().c_str(), std::memory_order_relaxed);
    }
    absl::Status status = CatchLibraryErrors([&] {
      absl::Status executed = ABSL_PREDICT_TRUE(context.trace == nullptr)
                                  ? thunk->Execute(context)
                                  : ExecuteTraced(*thunk, context);
      if (context.throttle != nullptr) context.throttle->CountCommand();
      return executed;
    });
    if (!status.ok()) return Located(status, *thunk);
  }
  return absl::OkStatus();
}

}  // namespace onexpu
