#include "pjrt_core/ffi/context.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/ffi/error.h"
#include "pjrt_core/ffi/newer_api.h"

namespace onexpu {

absl::Status FfiState::Set(int64_t type_id, void* object) {
  if (object_ != nullptr) {
    return absl::FailedPreconditionError("onexpu: the state of this FFI stage is already set");
  }
  if (object == nullptr || type_id == 0) {
    return absl::InvalidArgumentError("onexpu: an FFI state needs an object of a registered type");
  }
  type_id_ = type_id;
  object_ = object;
  return absl::OkStatus();
}

absl::StatusOr<void*> FfiState::Get(int64_t type_id) const {
  if (object_ == nullptr) return absl::NotFoundError("onexpu: this FFI stage left no state");
  if (type_id != type_id_) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: the FFI state has type id ", type_id_, ", not ", type_id));
  }
  return object_;
}

void FfiState::Reset() {
  if (object_ == nullptr) return;
  HandlerRegistry::Process().DeleteObject(type_id_, std::exchange(object_, nullptr));
  type_id_ = 0;
}

namespace {

// XLA FFI 0.2 and older: no stage, the state is the instantiation's.
struct StateSetArgs02 {
  size_t struct_size;
  XLA_FFI_Extension_Base* extension_start;
  XLA_FFI_ExecutionContext* ctx;
  XLA_FFI_TypeId* type_id;
  void* state;
};
using StateGetArgs02 = StateSetArgs02;

absl::string_view View(XLA_FFI_ByteSpan span) { return {span.ptr, span.len}; }

template <typename Args>
absl::Status CheckArgs(const Args* args, size_t expected) {
  return CheckFfiStructSize("an XLA FFI argument struct", expected, args->struct_size);
}

XLA_FFI_Error* HandlerRegister(XLA_FFI_Handler_Register_Args* args) {
  absl::Status status = CheckArgs(args, XLA_FFI_Handler_Register_Args_STRUCT_SIZE);
  if (!status.ok()) return MakeFfiError(status);
  FfiHandler handler;
  handler.name = std::string(View(args->name));
  handler.instantiate = args->bundle.instantiate;
  handler.prepare = args->bundle.prepare;
  handler.initialize = args->bundle.initialize;
  handler.execute = args->bundle.execute;
  const auto* const newer = reinterpret_cast<const FfiHandlerRegisterArgs04*>(args);
  const bool is_newer =
      args->struct_size >= offsetof(FfiHandlerRegisterArgs04, traits) + sizeof(newer->traits);
  handler.traits = is_newer ? newer->traits : args->traits;
  return MakeFfiError(HandlerRegistry::Process().Register(std::move(handler)));
}

XLA_FFI_Error* TypeRegister(XLA_FFI_Type_Register_Args* args) {
  absl::Status status = CheckArgs(args, XLA_FFI_Type_Register_Args_STRUCT_SIZE);
  if (!status.ok()) return MakeFfiError(status);
  absl::StatusOr<int64_t> id = HandlerRegistry::Process().RegisterType(
      View(args->name), args->type_id->type_id,
      args->type_info == nullptr ? nullptr : args->type_info->deleter);
  if (!id.ok()) return MakeFfiError(id.status());
  args->type_id->type_id = *id;
  return nullptr;
}

XLA_FFI_Error* StreamGet(XLA_FFI_Stream_Get_Args* args) {
  if (args->ctx->queue == nullptr) {
    return MakeFfiError(absl::FailedPreconditionError(
        "onexpu: there is no queue in the instantiate stage of an FFI handler"));
  }
  args->stream = args->ctx->queue;
  return nullptr;
}

int64_t LastCommandType() {
  static const int64_t id =
      HandlerRegistry::Process().RegisterType(kLastCommandType, 0, nullptr).value();
  return id;
}

int64_t CallerQueueType() {
  static const int64_t id =
      HandlerRegistry::Process().RegisterType(kCallerQueueType, 0, nullptr).value();
  return id;
}

XLA_FFI_Error* ExecutionContextGet(XLA_FFI_ExecutionContext_Get_Args* args) {
  if (args->type_id->type_id == LastCommandType()) {
    args->data = args->ctx->last_command;
    return nullptr;
  }
  if (args->type_id->type_id == CallerQueueType()) {
    args->data = const_cast<DirectQueue*>(args->ctx->caller);
    return nullptr;
  }
  const FfiUserData* user_data = args->ctx->user_data;
  if (user_data != nullptr) {
    auto found = user_data->find(args->type_id->type_id);
    if (found != user_data->end()) {
      args->data = found->second;
      return nullptr;
    }
  }
  return MakeFfiError(absl::NotFoundError(absl::StrCat(
      "onexpu: the execution carries no user data of FFI type id ", args->type_id->type_id)));
}

absl::StatusOr<FfiState*> StateOf(XLA_FFI_ExecutionContext* context, XLA_FFI_ExecutionStage stage) {
  switch (stage) {
    case XLA_FFI_ExecutionStage_INSTANTIATE:
      return context->instantiated;
    case XLA_FFI_ExecutionStage_PREPARE:
      return &context->prepared;
    case XLA_FFI_ExecutionStage_INITIALIZE:
      return &context->initialized;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("onexpu: FFI stage ", static_cast<int>(stage), " has no state"));
  }
}

absl::Status SetState(XLA_FFI_ExecutionContext* context, XLA_FFI_ExecutionStage stage,
                      const XLA_FFI_TypeId* type_id, void* object) {
  ONEXPU_ASSIGN_OR_RETURN(FfiState * state, StateOf(context, stage));
  return state->Set(type_id->type_id, object);
}

absl::Status GetState(XLA_FFI_ExecutionContext* context, XLA_FFI_ExecutionStage stage,
                      const XLA_FFI_TypeId* type_id, void** object) {
  ONEXPU_ASSIGN_OR_RETURN(FfiState * state, StateOf(context, stage));
  ONEXPU_ASSIGN_OR_RETURN(*object, state->Get(type_id->type_id));
  return absl::OkStatus();
}

XLA_FFI_Error* StateSet(XLA_FFI_State_Set_Args* args) {
  return MakeFfiError(SetState(args->ctx, args->stage, args->type_id, args->state));
}

XLA_FFI_Error* StateGet(XLA_FFI_State_Get_Args* args) {
  return MakeFfiError(GetState(args->ctx, args->stage, args->type_id, &args->state));
}

XLA_FFI_Error* StateSet02(XLA_FFI_State_Set_Args* args) {
  auto* old = reinterpret_cast<StateSetArgs02*>(args);
  return MakeFfiError(
      SetState(old->ctx, XLA_FFI_ExecutionStage_INSTANTIATE, old->type_id, old->state));
}

XLA_FFI_Error* StateGet02(XLA_FFI_State_Get_Args* args) {
  auto* old = reinterpret_cast<StateGetArgs02*>(args);
  return MakeFfiError(
      GetState(old->ctx, XLA_FFI_ExecutionStage_INSTANTIATE, old->type_id, &old->state));
}

// What Device::AllocateOrdered promises.
constexpr size_t kScratchAlignment = 256;

XLA_FFI_Error* DeviceMemoryAllocate(XLA_FFI_DeviceMemory_Allocate_Args* args) {
  XLA_FFI_ExecutionContext* context = args->ctx;
  if (context->device == nullptr) {
    return MakeFfiError(absl::FailedPreconditionError(
        "onexpu: there is no device in the instantiate stage of an FFI handler"));
  }
  if (args->alignment > kScratchAlignment) {
    return MakeFfiError(absl::InvalidArgumentError(
        absl::StrCat("onexpu: scratch memory is aligned to ", kScratchAlignment, " bytes, not ",
                     args->alignment)));
  }
  args->data = nullptr;
  if (args->size == 0) return nullptr;
  absl::StatusOr<void*> memory = context->device->AllocateOrdered(args->size);
  if (!memory.ok()) {
    context->refused = memory.status();
    return MakeFfiError(memory.status());
  }
  context->scratch.push_back({*memory, args->size});
  args->data = *memory;
  return nullptr;
}

XLA_FFI_Error* DeviceMemoryFree(XLA_FFI_DeviceMemory_Free_Args* args) {
  if (args->data == nullptr) return nullptr;
  auto& scratch = args->ctx->scratch;
  auto found = std::find_if(scratch.begin(), scratch.end(),
                            [&](const auto& block) { return block.memory == args->data; });
  if (found == scratch.end()) {
    return MakeFfiError(absl::InvalidArgumentError(
        "onexpu: an FFI handler freed device memory that it did not allocate in this call"));
  }
  args->ctx->device->FreeOrdered(found->memory, found->bytes);
  scratch.erase(found);
  return nullptr;
}

// The contract of XLA FFI allows the calling thread, and nothing here needs another.
XLA_FFI_Error* ThreadPoolSchedule(XLA_FFI_ThreadPool_Schedule_Args* args) {
  args->task(args->data);
  return nullptr;
}

XLA_FFI_Error* ThreadPoolNumThreads(XLA_FFI_ThreadPool_NumThreads_Args* args) {
  *args->num_threads = 1;
  return nullptr;
}

XLA_FFI_Error* FutureCreate(XLA_FFI_Future_Create_Args* args) {
  args->future = new XLA_FFI_Future;
  return nullptr;
}

// The awaiting thread frees the future, so the event must outlive Complete.
XLA_FFI_Error* FutureSetAvailable(XLA_FFI_Future_SetAvailable_Args* args) {
  std::shared_ptr<Event> event = args->future->event;
  event->Complete(absl::OkStatus());
  return nullptr;
}

XLA_FFI_Error* FutureSetError(XLA_FFI_Future_SetError_Args* args) {
  std::shared_ptr<Event> event = args->future->event;
  absl::Status status = TakeFfiError(args->error);
  event->Complete(status.ok() ? absl::UnknownError("the FFI handler gave an empty error") : status);
  return nullptr;
}

XLA_FFI_Error* RunIdGet(XLA_FFI_RunId_Get_Args* args) {
  args->run_id = args->ctx->run_id;
  return nullptr;
}

XLA_FFI_Error* DeviceOrdinalGet(XLA_FFI_DeviceOrdinal_Get_Args* args) {
  if (args->ctx->device == nullptr) {
    return MakeFfiError(absl::FailedPreconditionError(
        "onexpu: there is no device in the instantiate stage of an FFI handler"));
  }
  args->device_ordinal = args->ctx->device->id();
  return nullptr;
}

// Extensions of an execution are defined by the runtime that makes them, and there are none here.
XLA_FFI_Error* FindExtension(FfiFindExtensionArgs* args) {
  args->extension = nullptr;
  return nullptr;
}

// PJRT executions carry no options for handlers.
XLA_FFI_Error* CustomOptionsGet(FfiCustomOptionsGetArgs* args) {
  static constexpr XLA_FFI_Attrs kNone = {XLA_FFI_Attrs_STRUCT_SIZE};
  args->attrs = &kNone;
  return nullptr;
}

XLA_FFI_Api MakeApi(int minor) {
  XLA_FFI_Api api = {};
  api.struct_size = XLA_FFI_Api_STRUCT_SIZE;
  api.api_version = {XLA_FFI_Api_Version_STRUCT_SIZE, nullptr, XLA_FFI_API_MAJOR, minor};
  api.XLA_FFI_Error_Create = FfiErrorCreate;
  api.XLA_FFI_Error_GetMessage = FfiErrorGetMessage;
  api.XLA_FFI_Error_Destroy = FfiErrorDestroy;
  api.XLA_FFI_Handler_Register = HandlerRegister;
  api.XLA_FFI_Stream_Get = StreamGet;
  api.XLA_FFI_Type_Register = TypeRegister;
  api.XLA_FFI_ExecutionContext_Get = ExecutionContextGet;
  api.XLA_FFI_State_Set = minor >= 3 ? StateSet : StateSet02;
  api.XLA_FFI_State_Get = minor >= 3 ? StateGet : StateGet02;
  api.XLA_FFI_DeviceMemory_Allocate = DeviceMemoryAllocate;
  api.XLA_FFI_DeviceMemory_Free = DeviceMemoryFree;
  api.XLA_FFI_ThreadPool_Schedule = ThreadPoolSchedule;
  api.XLA_FFI_ThreadPool_NumThreads = ThreadPoolNumThreads;
  api.XLA_FFI_Future_Create = FutureCreate;
  api.XLA_FFI_Future_SetAvailable = FutureSetAvailable;
  api.XLA_FFI_Future_SetError = FutureSetError;
  api.XLA_FFI_RunId_Get = RunIdGet;
  api.XLA_FFI_DeviceOrdinal_Get = DeviceOrdinalGet;
  return api;
}

FfiApi05 MakeNewestApi() {
  FfiApi05 result = {MakeApi(kNewestFfiMinor), FindExtension, CustomOptionsGet};
  result.api.struct_size = sizeof(result);
  return result;
}

}  // namespace

const XLA_FFI_Api* FfiApi(int api_minor) {
  static const FfiApi05 api_0_5 = MakeNewestApi();
  static const XLA_FFI_Api api_0_3 = MakeApi(3);
  static const XLA_FFI_Api api_0_2 = MakeApi(2);
  return api_minor >= 4 ? &api_0_5.api : api_minor == 3 ? &api_0_3 : &api_0_2;
}

const XLA_FFI_Api* ProcessFfiApi() { return FfiApi(kNewestFfiMinor); }

}  // namespace onexpu

XLA_FFI_ExecutionContext::~XLA_FFI_ExecutionContext() {
  for (const Scratch& block : scratch) device->FreeOrdered(block.memory, block.bytes);
}
