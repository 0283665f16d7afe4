// Runs one of several sequences of thunks, which a value in device memory selects. Waits for that
// value.
//
// Thread-safe after creation.
#ifndef PJRT_CORE_THUNKS_CONTROL_CONDITIONAL_THUNK_H_
#define PJRT_CORE_THUNKS_CONTROL_CONDITIONAL_THUNK_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/thunks/thunk.h"

namespace onexpu {

class ConditionalThunk final : public Thunk {
 public:
  static absl::StatusOr<std::unique_ptr<Thunk>> Create(const program::Thunk& thunk,
                                                       const program::ConditionalThunk& conditional,
                                                       const LoadContext& load);

  absl::Status Execute(const ExecuteContext& context) override;
  size_t scratch_bytes() const override;
  bool blocks() const override { return true; }
  absl::string_view kind() const override { return "conditional"; }

 private:
  explicit ConditionalThunk(const program::Thunk& thunk)
      : Thunk(thunk.op_name()->str(), thunk.source()->str()) {}

  program::Slice selector_;
  bool selector_is_pred_ = false;
  std::vector<ThunkSequence> branches_;
};

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_CONTROL_CONDITIONAL_THUNK_H_
