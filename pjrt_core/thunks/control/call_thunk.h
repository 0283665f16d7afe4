// Runs a sequence of thunks as one.
//
// Thread-safe after creation.
#ifndef PJRT_CORE_THUNKS_CONTROL_CALL_THUNK_H_
#define PJRT_CORE_THUNKS_CONTROL_CALL_THUNK_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/thunks/thunk.h"

namespace onexpu {

class CallThunk final : public Thunk {
 public:
  static absl::StatusOr<std::unique_ptr<Thunk>> Create(const program::Thunk& thunk,
                                                       const program::CallThunk& call,
                                                       const LoadContext& load);

  absl::Status Execute(const ExecuteContext& context) override { return body_.Execute(context); }
  size_t scratch_bytes() const override { return body_.scratch_bytes(); }
  bool blocks() const override { return body_.blocks(); }
  bool waits_for_library() const override { return body_.waits_for_library(); }
  int64_t commands() const override { return body_.commands(); }
  bool follows_queue() const override { return body_.follows_queue(); }
  absl::string_view kind() const override { return "call"; }

 private:
  CallThunk(const program::Thunk& thunk, ThunkSequence body)
      : Thunk(thunk.op_name()->str(), thunk.source()->str()), body_(std::move(body)) {}

  const ThunkSequence body_;
};

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_CONTROL_CALL_THUNK_H_
