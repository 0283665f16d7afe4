// Copies one slice to another of equal size on the device queue.
//
// Thread-safe after creation; borrows the device memory.
#ifndef PJRT_CORE_THUNKS_COPY_THUNK_H_
#define PJRT_CORE_THUNKS_COPY_THUNK_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/thunks/thunk.h"

namespace onexpu {

class CopyThunk final : public Thunk {
 public:
  static absl::StatusOr<std::unique_ptr<Thunk>> Create(const program::Thunk& thunk,
                                                       const program::CopyThunk& copy,
                                                       const LoadContext& load);

  absl::Status Execute(const ExecuteContext& context) override;
  bool follows_queue() const override { return true; }
  absl::string_view kind() const override { return "copy"; }
  std::string label() const override { return op_name(); }

 private:
  CopyThunk(const program::Thunk& thunk, const program::CopyThunk& copy)
      : Thunk(thunk.op_name()->str(), thunk.source()->str()),
        source_(*copy.source()),
        destination_(*copy.destination()) {}

  const program::Slice source_;
  const program::Slice destination_;
};

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_COPY_THUNK_H_
