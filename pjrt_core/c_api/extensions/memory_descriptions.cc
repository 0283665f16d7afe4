// The memory descriptions extension: which memories a device has, without having the device.

#include "absl/status/status.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/c_api/device/memory.h"
#include "pjrt_core/c_api/entry.h"
#include "pjrt_core/c_api/extensions/extensions.h"
#include "xla/pjrt/c/pjrt_c_api_memory_descriptions_extension.h"

namespace onexpu::c_api {
namespace {

absl::Status OfDevice(PJRT_DeviceDescription_MemoryDescriptions_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.device_description, "device_description"));
  args.memory_descriptions = MemoryDescriptions().data();
  args.num_memory_descriptions = MemoryDescriptions().size();
  args.default_memory_index = 0;
  return absl::OkStatus();
}

absl::Status Kind(PJRT_MemoryDescription_Kind_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.memory_description, "memory_description"));
  const absl::string_view name = MemoryKindName(args.memory_description->kind);
  args.kind = name.data();
  args.kind_size = name.size();
  args.kind_id = static_cast<int>(args.memory_description->kind);
  return absl::OkStatus();
}

}  // namespace

PJRT_Extension_Base* MemoryDescriptionsExtension(PJRT_Extension_Base* next) {
  static PJRT_MemoryDescriptions_Extension extension = {
      {PJRT_MemoryDescriptions_Extension_STRUCT_SIZE, PJRT_Extension_Type_MemoryDescriptions, next},
      Entry<OfDevice>::Call,
      Entry<Kind>::Call,
  };
  return &extension.base;
}

}  // namespace onexpu::c_api
