// Calls a registered FFI handler: jax.ffi, pure_callback, custom kernels, TensorFlow's custom
// calls.
//
// Created when the Program is loaded, which runs the handler's instantiate stage. Owns the call
// site and its attributes.
#ifndef PJRT_CORE_THUNKS_CALL_CUSTOM_CALL_THUNK_H_
#define PJRT_CORE_THUNKS_CALL_CUSTOM_CALL_THUNK_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/ffi/attributes.h"
#include "pjrt_core/ffi/call.h"
#include "pjrt_core/program/program_generated.h"
#include "pjrt_core/thunks/thunk.h"

namespace onexpu {

class CustomCallThunk final : public Thunk {
 public:
  // NOT_FOUND when no handler of that name is registered.
  static absl::StatusOr<std::unique_ptr<Thunk>> Create(const program::Thunk& thunk,
                                                       const program::CustomCallThunk& call,
                                                       const LoadContext& load);

  absl::Status Execute(const ExecuteContext& context) override;
  bool blocks() const override { return site_->blocking(); }
  bool follows_queue() const override { return site_->follows_queue(); }
  absl::string_view kind() const override { return "custom_call"; }
  std::string label() const override { return site_->label(); }

 private:
  CustomCallThunk(std::string op_name, std::string source, FfiAttributes attributes);

  FfiAttributes attributes_;
  std::unique_ptr<FfiCallSite> site_;
  std::vector<program::Slice> operands_;
  std::vector<program::Slice> results_;
};

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_CALL_CUSTOM_CALL_THUNK_H_
