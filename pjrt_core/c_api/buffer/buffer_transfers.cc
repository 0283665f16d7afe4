// The functions of PJRT_Buffer that move contents: to the host, to other devices and memories.

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/c_api/buffer/buffer.h"
#include "pjrt_core/c_api/buffer/layout.h"
#include "pjrt_core/c_api/client.h"
#include "pjrt_core/c_api/entry.h"
#include "pjrt_core/c_api/event.h"

namespace onexpu::c_api {
namespace {

absl::Status CheckAlive(const PJRT_Buffer& buffer) {
  if (!buffer.buffer->IsDeleted()) return absl::OkStatus();
  return absl::FailedPreconditionError("onexpu: the buffer has been deleted or donated");
}

absl::Status ToHostBuffer(PJRT_Buffer_ToHostBuffer_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.src, "src"));
  ONEXPU_RETURN_IF_ERROR(CheckAlive(*args.src));
  ONEXPU_ASSIGN_OR_RETURN(HostLayout layout,
                          ToHostLayout(args.host_layout, args.src->buffer->shape()));
  if (args.dst == nullptr) {
    args.dst_size = layout.num_bytes;
    if (layout.num_bytes > 0) {
      args.event = nullptr;
      return absl::OkStatus();
    }
  }
  if (args.dst_size < layout.num_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: PJRT_Buffer_ToHostBuffer: dst_size is ",
                                                   args.dst_size, ", but the array takes ",
                                                   layout.num_bytes, " bytes"));
  }
  args.event = new PJRT_Event{
      args.src->buffer->ToHost(args.dst, layout.byte_strides, args.src->client->origin)};
  return absl::OkStatus();
}

absl::Status CheckRange(const PJRT_Buffer& buffer, int64_t offset, int64_t size) {
  const int64_t bytes = buffer.buffer->shape().num_bytes();
  if (offset >= 0 && size >= 0 && offset <= bytes && size <= bytes - offset) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("onexpu: ", size, " bytes from offset ", offset,
                                                 " are not in a buffer of ", bytes, " bytes"));
}

absl::Status CopyRawToHost(PJRT_Buffer_CopyRawToHost_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.buffer, "buffer"));
  ONEXPU_RETURN_IF_ERROR(CheckAlive(*args.buffer));
  ONEXPU_RETURN_IF_ERROR(CheckRange(*args.buffer, args.offset, args.transfer_size));
  if (args.transfer_size > 0) ONEXPU_RETURN_IF_ERROR(Require(args, args.dst, "dst"));
  args.event = new PJRT_Event{args.buffer->buffer->RawToHost(
      args.dst, args.offset, args.transfer_size, args.buffer->client->origin)};
  return absl::OkStatus();
}

// A copy whose destination comes later; lives until the caller's callback has been called, which
// PJRT says it is once.
struct PendingRawCopy {
  std::shared_ptr<Buffer> buffer;
  int64_t offset;
  int64_t size;
  Origin origin;
  std::shared_ptr<Event> done;
};

void StartRawCopy(PJRT_Buffer_CopyRawToHostFuture_Callback_Args* args) {
  std::unique_ptr<PendingRawCopy> copy(static_cast<PendingRawCopy*>(args->callback_data));
  absl::Status status =
      args->error_code == PJRT_Error_Code_OK
          ? absl::OkStatus()
          : ToStatus(args->error_code,
                     absl::string_view(args->error_message, args->error_message_size));
  if (!status.ok()) {
    copy->done->Complete(std::move(status));
    return;
  }
  copy->buffer->RawToHost(args->dst, copy->offset, copy->size, copy->origin)
      ->OnReady([done = copy->done](const absl::Status& result) { done->Complete(result); });
}

absl::Status CopyRawToHostFuture(PJRT_Buffer_CopyRawToHostFuture_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.buffer, "buffer"));
  ONEXPU_RETURN_IF_ERROR(CheckAlive(*args.buffer));
  ONEXPU_RETURN_IF_ERROR(CheckRange(*args.buffer, args.offset, args.transfer_size));
  std::shared_ptr<Event> done = Event::Create();
  args.callback_data = new PendingRawCopy{args.buffer->buffer, args.offset, args.transfer_size,
                                          args.buffer->client->origin, done};
  args.future_ready_callback = StartRawCopy;
  args.event = new PJRT_Event{std::move(done)};
  return absl::OkStatus();
}

absl::StatusOr<PJRT_Buffer*> Copy(const PJRT_Buffer& source, PJRT_Memory* memory) {
  ONEXPU_RETURN_IF_ERROR(CheckAlive(source));
  ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> copy,
                          source.buffer->CopyTo(memory->space, source.client->origin));
  return new PJRT_Buffer(memory->devices.front()->client, std::move(copy));
}

absl::Status CopyToDevice(PJRT_Buffer_CopyToDevice_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.buffer, "buffer"));
  ONEXPU_RETURN_IF_ERROR(Require(args, args.dst_device, "dst_device"));
  ONEXPU_ASSIGN_OR_RETURN(args.dst_buffer,
                          Copy(*args.buffer, args.dst_device->memory(MemoryKind::kDevice)));
  return absl::OkStatus();
}

absl::Status CopyToMemory(PJRT_Buffer_CopyToMemory_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.buffer, "buffer"));
  ONEXPU_RETURN_IF_ERROR(Require(args, args.dst_memory, "dst_memory"));
  ONEXPU_ASSIGN_OR_RETURN(args.dst_buffer, Copy(*args.buffer, args.dst_memory));
  return absl::OkStatus();
}

}  // namespace

void BindBufferTransfers(PJRT_Api* api) {
  api->PJRT_Buffer_ToHostBuffer = Entry<ToHostBuffer>::Call;
  api->PJRT_Buffer_CopyRawToHost = Entry<CopyRawToHost>::Call;
  api->PJRT_Buffer_CopyRawToHostFuture = Entry<CopyRawToHostFuture>::Call;
  api->PJRT_Buffer_CopyToDevice = Entry<CopyToDevice>::Call;
  api->PJRT_Buffer_CopyToMemory = Entry<CopyToMemory>::Call;
}

}  // namespace onexpu::c_api
