#include "pjrt_core/c_api/device/device.h"

#include "absl/status/status.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/c_api/entry.h"

namespace onexpu::c_api {
namespace {

absl::Status GetDescription(PJRT_Device_GetDescription_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.device, "device"));
  args.device_description = &args.device->description;
  return absl::OkStatus();
}

absl::Status IsAddressable(PJRT_Device_IsAddressable_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.device, "device"));
  args.is_addressable = true;
  return absl::OkStatus();
}

absl::Status LocalHardwareId(PJRT_Device_LocalHardwareId_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.device, "device"));
  args.local_hardware_id = args.device->device->id();
  return absl::OkStatus();
}

absl::Status AddressableMemories(PJRT_Device_AddressableMemories_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.device, "device"));
  args.memories = args.device->memories.data();
  args.num_memories = args.device->memories.size();
  return absl::OkStatus();
}

absl::Status DefaultMemory(PJRT_Device_DefaultMemory_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.device, "device"));
  args.memory = args.device->memory(MemoryKind::kDevice);
  return absl::OkStatus();
}

absl::Status MemoryStats(PJRT_Device_MemoryStats_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.device, "device"));
  const MemoryStatistics statistics = args.device->device->memory_statistics();
  args.bytes_in_use = statistics.bytes_in_use;
  args.peak_bytes_in_use = statistics.peak_bytes_in_use;
  args.peak_bytes_in_use_is_set = true;
  args.num_allocs = statistics.num_allocations;
  args.num_allocs_is_set = true;
  args.largest_alloc_size = statistics.largest_allocation;
  args.largest_alloc_size_is_set = true;
  args.bytes_limit = statistics.bytes_limit;
  args.bytes_limit_is_set = true;
  args.bytes_reserved = statistics.bytes_reserved;
  args.bytes_reserved_is_set = true;
  args.peak_bytes_reserved = statistics.peak_bytes_reserved;
  args.peak_bytes_reserved_is_set = true;
  args.bytes_reservable_limit_is_set = false;
  args.largest_free_block_bytes = statistics.largest_free_block_bytes;
  args.largest_free_block_bytes_is_set = true;
  args.pool_bytes = statistics.pool_bytes;
  args.pool_bytes_is_set = true;
  args.peak_pool_bytes_is_set = false;
  return absl::OkStatus();
}

// Tracking events name other libraries' work in the profile of a TPU. None is a valid answer;
// XLA's client of the C API aborts the process on an error.
absl::Status CreateAsyncTrackingEvent(PJRT_Device_CreateAsyncTrackingEvent_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.device, "device"));
  args.event = nullptr;
  return absl::OkStatus();
}

absl::Status DestroyAsyncTrackingEvent(PJRT_AsyncTrackingEvent_Destroy_Args& args) {
  if (args.event == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "onexpu: PJRT_AsyncTrackingEvent_Destroy: the event is not one of this plugin's, which "
      "creates none");
}

}  // namespace
}  // namespace onexpu::c_api

PJRT_Device::PJRT_Device(PJRT_Client* client, onexpu::Device* device)
    : client(client), device(device), description(*device) {
  for (const PJRT_MemoryDescription* memory : onexpu::c_api::MemoryDescriptions()) {
    owned_memories.push_back(std::make_unique<PJRT_Memory>(device->memory(memory->kind), this));
    memories.push_back(owned_memories.back().get());
  }
}

void PJRT_Device::BindApi(PJRT_Api* api) {
  using namespace onexpu::c_api;  // NOLINT: this file's own functions
  api->PJRT_Device_GetDescription = Entry<GetDescription>::Call;
  api->PJRT_Device_IsAddressable = Entry<IsAddressable>::Call;
  api->PJRT_Device_LocalHardwareId = Entry<LocalHardwareId>::Call;
  api->PJRT_Device_AddressableMemories = Entry<AddressableMemories>::Call;
  api->PJRT_Device_DefaultMemory = Entry<DefaultMemory>::Call;
  api->PJRT_Device_MemoryStats = Entry<MemoryStats>::Call;
  api->PJRT_Device_CreateAsyncTrackingEvent = Entry<CreateAsyncTrackingEvent>::Call;
  api->PJRT_AsyncTrackingEvent_Destroy = Entry<DestroyAsyncTrackingEvent>::Call;
}
