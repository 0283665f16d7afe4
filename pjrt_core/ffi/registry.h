// XLA FFI on our side: registered handlers, external types, user data. Thread-safe.
//
// The calls themselves (call frames, XLA_FFI_Api of each minor version, contexts) are in
// ffi/call.h.
#ifndef PJRT_CORE_FFI_REGISTRY_H_
#define PJRT_CORE_FFI_REGISTRY_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "xla/ffi/api/c_api.h"

namespace onexpu {

// A handler's traits next to XLA's (ONEXPU_HANDLER_* in c_api/extensions/launch.h).
inline constexpr uint32_t kHandlerHostOperands = 1u << 16;
inline constexpr uint32_t kHandlerFollowsQueue = 1u << 17;

struct FfiHandler {
  std::string name;
  XLA_FFI_Handler* instantiate = nullptr;
  XLA_FFI_Handler* prepare = nullptr;
  XLA_FFI_Handler* initialize = nullptr;
  XLA_FFI_Handler* execute = nullptr;
  uint32_t traits = 0;  // XLA_FFI_HANDLER_TRAITS_* and kHandler*
  int api_minor =
      3;  // of the handler's own metadata: decides the XLA_FFI_Api layout that it is given
};

// type id -> pointer, per execution (PJRT_ExecuteContext).
using FfiUserData = absl::flat_hash_map<int64_t, void*>;

class HandlerRegistry {
 public:
  // The process's registry, which Client::handlers() gives too: frameworks register handlers and
  // types before they make a client, and the XLA_FFI_Api functions that register have no other
  // context.
  static HandlerRegistry& Process();

  // Asks the handler for its metadata (API version, traits). ALREADY_EXISTS for other functions
  // under the same name.
  absl::Status Register(FfiHandler handler);
  // NOT_FOUND lists names that are close.
  absl::StatusOr<const FfiHandler*> Find(absl::string_view name) const;

  // A handler that is launched by its functions and has no registered name: its metadata is asked
  // for once.
  absl::StatusOr<const FfiHandler*> Intern(const FfiHandler& handler);

  // type_id 0 assigns one; otherwise checks it against an earlier registration of `name`.
  absl::StatusOr<int64_t> RegisterType(absl::string_view name, int64_t type_id,
                                       void (*deleter)(void*));
  void DeleteObject(int64_t type_id, void* object) const;

 private:
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, std::unique_ptr<FfiHandler>> handlers_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<XLA_FFI_Handler*, std::unique_ptr<FfiHandler>> unnamed_
      ABSL_GUARDED_BY(mutex_);
  struct Type {
    int64_t id;
    void (*deleter)(void*);
  };
  absl::flat_hash_map<std::string, Type> types_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<int64_t, void (*)(void*)> deleters_ ABSL_GUARDED_BY(mutex_);
  int64_t next_type_id_ ABSL_GUARDED_BY(mutex_) = 1 << 20;
};

}  // namespace onexpu

#endif  // PJRT_CORE_FFI_REGISTRY_H_
