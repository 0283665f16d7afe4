#include "pjrt_core/c_api/buffer/client_buffers.h"

#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/c_api/buffer/buffer.h"
#include "pjrt_core/c_api/buffer/exported_buffers.h"
#include "pjrt_core/c_api/buffer/layout.h"
#include "pjrt_core/c_api/client.h"
#include "pjrt_core/c_api/entry.h"
#include "pjrt_core/c_api/event.h"

namespace onexpu::c_api {
namespace {

absl::StatusOr<HostBufferSemantics> ToSemantics(PJRT_HostBufferSemantics semantics) {
  switch (semantics) {
    case PJRT_HostBufferSemantics_kImmutableOnlyDuringCall:
      return HostBufferSemantics::kImmutableOnlyDuringCall;
    case PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes:
      return HostBufferSemantics::kImmutableUntilTransferCompletes;
    case PJRT_HostBufferSemantics_kImmutableZeroCopy:
      return HostBufferSemantics::kImmutableZeroCopy;
    case PJRT_HostBufferSemantics_kMutableZeroCopy:
      return HostBufferSemantics::kMutableZeroCopy;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("onexpu: unknown host buffer semantics ", static_cast<int>(semantics)));
}

absl::Status BufferFromHostBuffer(PJRT_Client_BufferFromHostBuffer_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.client, "client"));
  ONEXPU_ASSIGN_OR_RETURN(ArrayShape shape,
                          ToShape(args.type, args.dims, args.num_dims, args.device_layout));
  if (shape.num_bytes() > 0) ONEXPU_RETURN_IF_ERROR(Require(args, args.data, "data"));
  ONEXPU_RETURN_IF_ERROR(
      RequireArray(args, args.byte_strides, args.num_byte_strides, "byte_strides"));
  if (args.num_byte_strides != 0 && args.num_byte_strides != args.num_dims) {
    return absl::InvalidArgumentError(absl::StrCat(
        "onexpu: ", args.num_byte_strides, " byte strides for an array of rank ", args.num_dims));
  }
  ONEXPU_ASSIGN_OR_RETURN(HostBufferSemantics semantics, ToSemantics(args.host_buffer_semantics));
  ONEXPU_ASSIGN_OR_RETURN(MemorySpace * memory, ToMemorySpace(args.memory, args.device));
  ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> handed_over,
                          ExportedBuffers::Get().Take(args.data, shape, memory));
  if (handed_over != nullptr) {
    args.done_with_host_buffer = new PJRT_Event{Event::Completed(absl::OkStatus())};
    args.buffer = new PJRT_Buffer(args.client, std::move(handed_over));
    return absl::OkStatus();
  }
  std::shared_ptr<Event> done = Event::Create();
  ONEXPU_ASSIGN_OR_RETURN(
      std::shared_ptr<Buffer> buffer,
      Buffer::FromHost(args.data, shape,
                       absl::MakeConstSpan(args.byte_strides, args.num_byte_strides), semantics,
                       memory, args.client->origin, [done] { done->Complete(absl::OkStatus()); }));
  args.done_with_host_buffer = new PJRT_Event{std::move(done)};
  args.buffer = new PJRT_Buffer(args.client, std::move(buffer));
  return absl::OkStatus();
}

absl::Status CreateUninitializedBuffer(PJRT_Client_CreateUninitializedBuffer_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.client, "client"));
  ONEXPU_ASSIGN_OR_RETURN(ArrayShape shape, ToShape(args.shape_element_type, args.shape_dims,
                                                    args.shape_num_dims, args.shape_layout));
  ONEXPU_ASSIGN_OR_RETURN(MemorySpace * memory, ToMemorySpace(args.memory, args.device));
  ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> buffer, Buffer::Uninitialized(shape, memory));
  args.buffer = new PJRT_Buffer(args.client, std::move(buffer));
  return absl::OkStatus();
}

absl::Status CreateErrorBuffer(PJRT_Client_CreateErrorBuffer_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.client, "client"));
  ONEXPU_RETURN_IF_ERROR(Require(args, args.memory, "memory"));
  ONEXPU_ASSIGN_OR_RETURN(ArrayShape shape, ToShape(args.shape_element_type, args.shape_dims,
                                                    args.shape_num_dims, args.shape_layout));
  ONEXPU_RETURN_IF_ERROR(
      RequireArray(args, args.error_message, args.error_message_size, "error_message"));
  absl::Status error =
      ToStatus(args.error_code, absl::string_view(args.error_message, args.error_message_size));
  if (error.ok()) {
    return absl::InvalidArgumentError("onexpu: PJRT_Client_CreateErrorBuffer: the error is OK");
  }
  args.buffer =
      new PJRT_Buffer(args.client, Buffer::Poisoned(std::move(error), shape, args.memory->space));
  return absl::OkStatus();
}

// `stream` is the address of a sycl::queue: what it has been given so far is waited for.
absl::Status CreateViewOfDeviceBuffer(PJRT_Client_CreateViewOfDeviceBuffer_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.client, "client"));
  ONEXPU_ASSIGN_OR_RETURN(ArrayShape shape,
                          ToShape(args.element_type, args.dims, args.num_dims, args.layout));
  ONEXPU_ASSIGN_OR_RETURN(MemorySpace * memory, ToMemorySpace(args.memory, args.device));
  absl::AnyInvocable<void()> on_delete = [] {};
  if (args.on_delete_callback != nullptr) {
    on_delete = [callback = args.on_delete_callback, pointer = args.device_buffer_ptr,
                 user = args.on_delete_callback_arg] { callback(pointer, user); };
  }
  ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> buffer,
                          Buffer::View(args.device_buffer_ptr, shape, memory, std::move(on_delete),
                                       ForeignWork{.queue = reinterpret_cast<void*>(args.stream)}));
  args.buffer = new PJRT_Buffer(args.client, std::move(buffer));
  return absl::OkStatus();
}

}  // namespace

void BindClientBuffers(PJRT_Api* api) {
  api->PJRT_Client_BufferFromHostBuffer = Entry<BufferFromHostBuffer>::Call;
  api->PJRT_Client_CreateUninitializedBuffer = Entry<CreateUninitializedBuffer>::Call;
  api->PJRT_Client_CreateErrorBuffer = Entry<CreateErrorBuffer>::Call;
  api->PJRT_Client_CreateViewOfDeviceBuffer = Entry<CreateViewOfDeviceBuffer>::Call;
}

}  // namespace onexpu::c_api
