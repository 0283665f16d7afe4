// Repeats a sequence of thunks: a known number of times without asking the device, otherwise for as
// long as the condition's predicate is true, for which it waits.
//
// Thread-safe after creation.
#ifndef PJRT_CORE_THUNKS_CONTROL_WHILE_THUNK_H_
#define PJRT_CORE_THUNKS_CONTROL_WHILE_THUNK_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/thunks/thunk.h"

namespace onexpu {

class WhileThunk final : public Thunk {
 public:
  static absl::StatusOr<std::unique_ptr<Thunk>> Create(const program::Thunk& thunk,
                                                       const program::WhileThunk& loop,
                                                       const LoadContext& load);

  absl::Status Execute(const ExecuteContext& context) override;
  size_t scratch_bytes() const override;
  bool blocks() const override;
  bool waits_for_library() const override { return body_.waits_for_library(); }
  bool follows_queue() const override { return trip_count_ >= 0 && body_.follows_queue(); }
  int64_t commands() const override;
  absl::string_view kind() const override { return "while"; }

 private:
  explicit WhileThunk(const program::Thunk& thunk)
      : Thunk(thunk.op_name()->str(), thunk.source()->str()) {}

  ThunkSequence condition_;
  ThunkSequence body_;
  program::Slice predicate_;
  int64_t trip_count_ = -1;
};

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_CONTROL_WHILE_THUNK_H_
