#include "pjrt_core/c_api/device/memory.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/c_api/entry.h"

namespace onexpu::c_api {
namespace {

absl::Status Id(PJRT_Memory_Id_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.memory, "memory"));
  args.id = args.memory->space->id();
  return absl::OkStatus();
}

absl::Status Kind(PJRT_Memory_Kind_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.memory, "memory"));
  const absl::string_view name = MemoryKindName(args.memory->space->kind());
  args.kind = name.data();
  args.kind_size = name.size();
  return absl::OkStatus();
}

absl::Status KindId(PJRT_Memory_Kind_Id_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.memory, "memory"));
  args.kind_id = static_cast<int>(args.memory->space->kind());
  return absl::OkStatus();
}

absl::Status DebugString(PJRT_Memory_DebugString_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.memory, "memory"));
  args.debug_string = args.memory->debug_string.data();
  args.debug_string_size = args.memory->debug_string.size();
  return absl::OkStatus();
}

absl::Status ToString(PJRT_Memory_ToString_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.memory, "memory"));
  args.to_string = args.memory->to_string.data();
  args.to_string_size = args.memory->to_string.size();
  return absl::OkStatus();
}

absl::Status AddressableByDevices(PJRT_Memory_AddressableByDevices_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.memory, "memory"));
  args.devices = args.memory->devices.data();
  args.num_devices = args.memory->devices.size();
  return absl::OkStatus();
}

}  // namespace

absl::string_view MemoryKindName(MemoryKind kind) {
  return kind == MemoryKind::kDevice ? "device" : "pinned_host";
}

absl::Span<const PJRT_MemoryDescription* const> MemoryDescriptions() {
  static constexpr PJRT_MemoryDescription kDevice{MemoryKind::kDevice};
  static constexpr PJRT_MemoryDescription kPinnedHost{MemoryKind::kPinnedHost};
  static constexpr const PJRT_MemoryDescription* kAll[] = {&kDevice, &kPinnedHost};
  return kAll;
}

}  // namespace onexpu::c_api

PJRT_Memory::PJRT_Memory(onexpu::MemorySpace* space, PJRT_Device* device)
    : space(space),
      devices({device}),
      debug_string(absl::StrCat(onexpu::c_api::MemoryKindName(space->kind()), " memory ",
                                space->id(), " of ", space->device()->debug_string())),
      to_string(absl::StrCat("XpuMemory(id=", space->id(),
                             ", kind=", onexpu::c_api::MemoryKindName(space->kind()), ")")) {}

void PJRT_Memory::BindApi(PJRT_Api* api) {
  using namespace onexpu::c_api;  // NOLINT: this file's own functions
  api->PJRT_Memory_Id = Entry<Id>::Call;
  api->PJRT_Memory_Kind = Entry<Kind>::Call;
  api->PJRT_Memory_Kind_Id = Entry<KindId>::Call;
  api->PJRT_Memory_DebugString = Entry<DebugString>::Call;
  api->PJRT_Memory_ToString = Entry<ToString>::Call;
  api->PJRT_Memory_AddressableByDevices = Entry<AddressableByDevices>::Call;
}
