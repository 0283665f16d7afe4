#include "pjrt_core/ffi/registry.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/ffi/error.h"
#include "pjrt_core/ffi/newer_api.h"

namespace onexpu {
namespace {

struct Metadata {
  uint32_t traits = 0;
  int minor = 0;
};

// A handler that gets a call frame with the metadata extension fills it and does nothing else.
absl::StatusOr<Metadata> AskForMetadata(XLA_FFI_Handler* handler) {
  XLA_FFI_Api api = {};
  api.struct_size = XLA_FFI_Api_STRUCT_SIZE;
  api.api_version = {XLA_FFI_Api_Version_STRUCT_SIZE, nullptr, XLA_FFI_API_MAJOR,
                     XLA_FFI_API_MINOR};
  api.XLA_FFI_Error_Create = FfiErrorCreate;
  api.XLA_FFI_Error_GetMessage = FfiErrorGetMessage;
  api.XLA_FFI_Error_Destroy = FfiErrorDestroy;

  XLA_FFI_Metadata metadata = {};
  metadata.struct_size = sizeof(metadata);
  metadata.api_version.struct_size = XLA_FFI_Api_Version_STRUCT_SIZE;
  metadata.api_version.major_version = -1;
  XLA_FFI_Metadata_Extension extension = {};
  extension.extension_base.struct_size = sizeof(extension);
  extension.extension_base.type = XLA_FFI_Extension_Metadata;
  extension.metadata = &metadata;

  XLA_FFI_CallFrame frame = {};
  frame.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE;
  frame.extension_start = &extension.extension_base;
  frame.api = &api;
  frame.stage = XLA_FFI_ExecutionStage_EXECUTE;
  frame.args.struct_size = XLA_FFI_Args_STRUCT_SIZE;
  frame.rets.struct_size = XLA_FFI_Rets_STRUCT_SIZE;
  frame.attrs.struct_size = XLA_FFI_Attrs_STRUCT_SIZE;
  ONEXPU_RETURN_IF_ERROR(CallFfiHandler(handler, &frame));

  const XLA_FFI_Api_Version& version = metadata.api_version;
  if (version.major_version != XLA_FFI_API_MAJOR || version.minor_version < 0 ||
      version.minor_version > kNewestFfiMinor) {
    return absl::FailedPreconditionError(absl::StrCat(
        "built against XLA FFI ", version.major_version, ".", version.minor_version,
        ", supported are ", XLA_FFI_API_MAJOR, ".0 to ", XLA_FFI_API_MAJOR, ".", kNewestFfiMinor));
  }
  return Metadata{metadata.traits, version.minor_version};
}

// Fills what the handler's own metadata says.
absl::Status Describe(FfiHandler& handler) {
  if (handler.execute == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: FFI handler '", handler.name, "' has no execute function"));
  }
  bool first = true;
  for (XLA_FFI_Handler* stage :
       {handler.execute, handler.initialize, handler.prepare, handler.instantiate}) {
    if (stage == nullptr) continue;
    absl::StatusOr<Metadata> metadata = AskForMetadata(stage);
    if (!metadata.ok()) {
      return absl::Status(
          metadata.status().code(),
          absl::StrCat("onexpu: FFI handler '", handler.name, "': ", metadata.status().message()));
    }
    if (!first && metadata->minor != handler.api_minor) {
      return absl::FailedPreconditionError(
          absl::StrCat("onexpu: the stages of FFI handler '", handler.name,
                       "' were built against different XLA FFI versions: 0.", metadata->minor,
                       " and 0.", handler.api_minor));
    }
    if (first) handler.traits |= metadata->traits;
    handler.api_minor = metadata->minor;
    first = false;
  }
  return absl::OkStatus();
}

bool SameFunctions(const FfiHandler& a, const FfiHandler& b) {
  return a.instantiate == b.instantiate && a.prepare == b.prepare && a.initialize == b.initialize &&
         a.execute == b.execute;
}

size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitution = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitution});
    }
  }
  return row[b.size()];
}

}  // namespace

HandlerRegistry& HandlerRegistry::Process() {
  static HandlerRegistry* const registry = new HandlerRegistry;  // handlers outlive every client
  return *registry;
}

absl::Status HandlerRegistry::Register(FfiHandler handler) {
  if (handler.name.empty()) {
    return absl::InvalidArgumentError("onexpu: an FFI handler needs a name");
  }
  ONEXPU_RETURN_IF_ERROR(Describe(handler));
  absl::MutexLock lock(&mutex_);
  std::unique_ptr<FfiHandler>& entry = handlers_[handler.name];
  if (entry == nullptr) {
    entry = std::make_unique<FfiHandler>(std::move(handler));
    return absl::OkStatus();
  }
  if (SameFunctions(*entry, handler)) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat("onexpu: FFI handler '", handler.name,
                                               "' is already registered with other functions"));
}

absl::StatusOr<const FfiHandler*> HandlerRegistry::Find(absl::string_view name) const {
  absl::MutexLock lock(&mutex_);
  auto found = handlers_.find(name);
  if (found != handlers_.end()) return found->second.get();

  std::vector<std::pair<size_t, absl::string_view>> close;
  for (const auto& [registered, handler] : handlers_) {
    const size_t distance = EditDistance(name, registered);
    if (distance <= 2 + name.size() / 4) close.emplace_back(distance, registered);
  }
  std::sort(close.begin(), close.end());
  if (close.size() > 3) close.resize(3);
  std::string message =
      absl::StrCat("onexpu: no FFI handler named '", name, "' is registered for platform xpu");
  if (!close.empty()) {
    absl::StrAppend(&message, "; did you mean ",
                    absl::StrJoin(close, " or ",
                                  [](std::string* out, const auto& entry) {
                                    absl::StrAppend(out, "'", entry.second, "'");
                                  }),
                    "?");
  }
  return absl::NotFoundError(message);
}

absl::StatusOr<const FfiHandler*> HandlerRegistry::Intern(const FfiHandler& handler) {
  {
    absl::MutexLock lock(&mutex_);
    auto found = unnamed_.find(handler.execute);
    if (found != unnamed_.end() && SameFunctions(*found->second, handler)) {
      return found->second.get();
    }
  }
  auto described = std::make_unique<FfiHandler>(handler);
  ONEXPU_RETURN_IF_ERROR(Describe(*described));
  absl::MutexLock lock(&mutex_);
  std::unique_ptr<FfiHandler>& entry = unnamed_[handler.execute];
  if (entry == nullptr) entry = std::move(described);
  if (SameFunctions(*entry, handler)) return entry.get();
  return absl::AlreadyExistsError(absl::StrCat("onexpu: the execute function of '", handler.name,
                                               "' was launched before with other stages"));
}

absl::StatusOr<int64_t> HandlerRegistry::RegisterType(absl::string_view name, int64_t type_id,
                                                      void (*deleter)(void*)) {
  absl::MutexLock lock(&mutex_);
  auto found = types_.find(name);
  if (found != types_.end()) {
    if (type_id != 0 && type_id != found->second.id) {
      return absl::InvalidArgumentError(absl::StrCat("onexpu: FFI type '", name,
                                                     "' is registered with type id ",
                                                     found->second.id, ", not ", type_id));
    }
    return found->second.id;
  }
  if (type_id == 0) type_id = next_type_id_++;
  for (const auto& [other, type] : types_) {
    if (type.id != type_id) continue;
    return absl::InvalidArgumentError(absl::StrCat("onexpu: FFI type id ", type_id, " of '", name,
                                                   "' belongs to type '", other, "'"));
  }
  types_.emplace(std::string(name), Type{type_id, deleter});
  deleters_.emplace(type_id, deleter);
  return type_id;
}

void HandlerRegistry::DeleteObject(int64_t type_id, void* object) const {
  void (*deleter)(void*) = nullptr;
  {
    absl::MutexLock lock(&mutex_);
    auto found = deleters_.find(type_id);
    if (found != deleters_.end()) deleter = found->second;
  }
  if (deleter != nullptr && object != nullptr) deleter(object);
}

}  // namespace onexpu
