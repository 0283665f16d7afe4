#include "pjrt_core/c_api/buffer/buffer.h"

#include <utility>

#include "absl/status/status.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/c_api/buffer/layout.h"
#include "pjrt_core/c_api/client.h"
#include "pjrt_core/c_api/entry.h"
#include "pjrt_core/c_api/event.h"

namespace onexpu::c_api {
namespace {

absl::Status DeletedError() {
  return absl::FailedPreconditionError("onexpu: the buffer has been deleted or donated");
}

absl::Status Destroy(PJRT_Buffer_Destroy_Args& args) {
  delete args.buffer;
  return absl::OkStatus();
}

absl::Status ElementType(PJRT_Buffer_ElementType_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.buffer, "buffer"));
  args.type = ToBufferType(args.buffer->buffer->shape().element_type);
  return absl::OkStatus();
}

absl::Status BufferDimensions(PJRT_Buffer_Dimensions_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.buffer, "buffer"));
  const Dimensions& dimensions = args.buffer->dynamic_shape != nullptr
                                     ? args.buffer->dynamic_shape->bounds
                                     : args.buffer->buffer->shape().dimensions;
  args.dims = dimensions.data();
  args.num_dims = dimensions.size();
  return absl::OkStatus();
}

absl::Status UnpaddedDimensions(PJRT_Buffer_UnpaddedDimensions_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.buffer, "buffer"));
  const ArrayShape& shape = args.buffer->buffer->shape();
  args.unpadded_dims = shape.dimensions.data();
  args.num_dims = shape.dimensions.size();
  return absl::OkStatus();
}

absl::Status DynamicDimensionIndices(PJRT_Buffer_DynamicDimensionIndices_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.buffer, "buffer"));
  const DynamicShape* shape = args.buffer->dynamic_shape.get();
  args.dynamic_dim_indices = shape == nullptr ? nullptr : shape->dynamic_dimensions.data();
  args.num_dynamic_dims = shape == nullptr ? 0 : shape->dynamic_dimensions.size();
  return absl::OkStatus();
}

absl::Status GetMemoryLayout(PJRT_Buffer_GetMemoryLayout_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.buffer, "buffer"));
  const ArrayShape& shape = args.buffer->buffer->shape();
  args.layout.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE;
  args.layout.extension_start = nullptr;
  args.layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  args.layout.tiled = PJRT_Buffer_MemoryLayout_Tiled{};
  args.layout.tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
  args.layout.tiled.minor_to_major = shape.minor_to_major.data();
  args.layout.tiled.minor_to_major_size = shape.minor_to_major.size();
  return absl::OkStatus();
}

absl::Status OnDeviceSizeInBytes(PJRT_Buffer_OnDeviceSizeInBytes_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.buffer, "buffer"));
  args.on_device_size_in_bytes = static_cast<size_t>(args.buffer->buffer->shape().num_bytes());
  return absl::OkStatus();
}

absl::Status BufferDevice(PJRT_Buffer_Device_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.buffer, "buffer"));
  args.device = args.buffer->memory->devices.front();
  return absl::OkStatus();
}

absl::Status BufferMemory(PJRT_Buffer_Memory_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.buffer, "buffer"));
  args.memory = args.buffer->memory;
  return absl::OkStatus();
}

absl::Status Delete(PJRT_Buffer_Delete_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.buffer, "buffer"));
  args.buffer->buffer->Delete();
  return absl::OkStatus();
}

absl::Status IsDeleted(PJRT_Buffer_IsDeleted_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.buffer, "buffer"));
  args.is_deleted = args.buffer->buffer->IsDeleted();
  return absl::OkStatus();
}

// False even on the CPU device: a caller that gets "true" reads the memory without synchronization.
absl::Status IsOnCpu(PJRT_Buffer_IsOnCpu_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.buffer, "buffer"));
  args.is_on_cpu = false;
  return absl::OkStatus();
}

absl::Status ReadyEvent(PJRT_Buffer_ReadyEvent_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.buffer, "buffer"));
  Buffer& buffer = *args.buffer->buffer;
  args.event =
      new PJRT_Event{buffer.IsDeleted() ? Event::Completed(DeletedError()) : buffer.ready()};
  return absl::OkStatus();
}

absl::Status UnsafePointer(PJRT_Buffer_UnsafePointer_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.buffer, "buffer"));
  ONEXPU_ASSIGN_OR_RETURN(void* address, args.buffer->buffer->address());
  args.buffer_pointer = reinterpret_cast<uintptr_t>(address);
  return absl::OkStatus();
}

absl::Status OpaqueDeviceMemoryDataPointer(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.buffer, "buffer"));
  ONEXPU_ASSIGN_OR_RETURN(args.device_memory_ptr, args.buffer->buffer->address());
  return absl::OkStatus();
}

absl::Status IncreaseExternalReferenceCount(PJRT_Buffer_IncreaseExternalReferenceCount_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.buffer, "buffer"));
  return args.buffer->buffer->AcquireExternalReference();
}

absl::Status DecreaseExternalReferenceCount(PJRT_Buffer_DecreaseExternalReferenceCount_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.buffer, "buffer"));
  return args.buffer->buffer->ReleaseExternalReference();
}

}  // namespace
}  // namespace onexpu::c_api

PJRT_Buffer::PJRT_Buffer(PJRT_Client* client, std::shared_ptr<onexpu::Buffer> core_buffer)
    : client(client), memory(client->Find(core_buffer->memory())), buffer(std::move(core_buffer)) {}

void PJRT_Buffer::BindApi(PJRT_Api* api) {
  using namespace onexpu::c_api;  // NOLINT: this file's own functions
  api->PJRT_Buffer_Destroy = Entry<Destroy>::Call;
  api->PJRT_Buffer_ElementType = Entry<ElementType>::Call;
  api->PJRT_Buffer_Dimensions = Entry<BufferDimensions>::Call;
  api->PJRT_Buffer_UnpaddedDimensions = Entry<UnpaddedDimensions>::Call;
  api->PJRT_Buffer_DynamicDimensionIndices = Entry<DynamicDimensionIndices>::Call;
  api->PJRT_Buffer_GetMemoryLayout = Entry<GetMemoryLayout>::Call;
  api->PJRT_Buffer_OnDeviceSizeInBytes = Entry<OnDeviceSizeInBytes>::Call;
  api->PJRT_Buffer_Device = Entry<BufferDevice>::Call;
  api->PJRT_Buffer_Memory = Entry<BufferMemory>::Call;
  api->PJRT_Buffer_Delete = Entry<Delete>::Call;
  api->PJRT_Buffer_IsDeleted = Entry<IsDeleted>::Call;
  api->PJRT_Buffer_IsOnCpu = Entry<IsOnCpu>::Call;
  api->PJRT_Buffer_ReadyEvent = Entry<ReadyEvent>::Call;
  api->PJRT_Buffer_UnsafePointer = Entry<UnsafePointer>::Call;
  api->PJRT_Buffer_OpaqueDeviceMemoryDataPointer = Entry<OpaqueDeviceMemoryDataPointer>::Call;
  api->PJRT_Buffer_IncreaseExternalReferenceCount = Entry<IncreaseExternalReferenceCount>::Call;
  api->PJRT_Buffer_DecreaseExternalReferenceCount = Entry<DecreaseExternalReferenceCount>::Call;
  BindBufferTransfers(api);
}
