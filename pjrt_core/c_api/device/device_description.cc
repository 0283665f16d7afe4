#include "pjrt_core/c_api/device/device_description.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/c_api/entry.h"

namespace onexpu::c_api {
namespace {

absl::Status Id(PJRT_DeviceDescription_Id_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.device_description, "device_description"));
  args.id = args.device_description->id;
  return absl::OkStatus();
}

absl::Status ProcessIndex(PJRT_DeviceDescription_ProcessIndex_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.device_description, "device_description"));
  args.process_index = args.device_description->process_index;
  return absl::OkStatus();
}

absl::Status Attributes(PJRT_DeviceDescription_Attributes_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.device_description, "device_description"));
  const absl::Span<const PJRT_NamedValue> list = args.device_description->attributes.list();
  args.attributes = list.data();
  args.num_attributes = list.size();
  return absl::OkStatus();
}

absl::Status Kind(PJRT_DeviceDescription_Kind_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.device_description, "device_description"));
  args.device_kind = args.device_description->kind.data();
  args.device_kind_size = args.device_description->kind.size();
  return absl::OkStatus();
}

absl::Status DebugString(PJRT_DeviceDescription_DebugString_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.device_description, "device_description"));
  args.debug_string = args.device_description->debug_string.data();
  args.debug_string_size = args.device_description->debug_string.size();
  return absl::OkStatus();
}

absl::Status ToString(PJRT_DeviceDescription_ToString_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.device_description, "device_description"));
  args.to_string = args.device_description->to_string.data();
  args.to_string_size = args.device_description->to_string.size();
  return absl::OkStatus();
}

// What jax.devices() prints.
std::string ShortName(int id) { return absl::StrCat("xpu(id=", id, ")"); }

}  // namespace
}  // namespace onexpu::c_api

PJRT_DeviceDescription::PJRT_DeviceDescription(const onexpu::Device& device)
    : id(device.id()),
      process_index(device.process_index()),
      kind(device.kind()),
      debug_string(device.debug_string()),
      to_string(onexpu::c_api::ShortName(device.id())),
      attributes(device.attributes()) {}

PJRT_DeviceDescription::PJRT_DeviceDescription(
    int id, absl::string_view kind,
    absl::Span<const std::pair<std::string, onexpu::AttributeValue>> attributes)
    : id(id),
      process_index(0),
      kind(kind),
      debug_string(absl::StrCat("xpu:", id, " (", kind, ", compile only)")),
      to_string(onexpu::c_api::ShortName(id)),
      attributes(attributes) {}

void PJRT_DeviceDescription::BindApi(PJRT_Api* api) {
  using namespace onexpu::c_api;  // NOLINT: this file's own functions
  api->PJRT_DeviceDescription_Id = Entry<Id>::Call;
  api->PJRT_DeviceDescription_ProcessIndex = Entry<ProcessIndex>::Call;
  api->PJRT_DeviceDescription_Attributes = Entry<Attributes>::Call;
  api->PJRT_DeviceDescription_Kind = Entry<Kind>::Call;
  api->PJRT_DeviceDescription_DebugString = Entry<DebugString>::Call;
  api->PJRT_DeviceDescription_ToString = Entry<ToString>::Call;
}
