// The onexpu_sycl_sharing extension (sycl_sharing.h).

#include "pjrt_core/c_api/extensions/sycl_sharing.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/c_api/buffer/buffer.h"
#include "pjrt_core/c_api/buffer/layout.h"
#include "pjrt_core/c_api/buffer/offered_buffers.h"
#include "pjrt_core/c_api/client.h"
#include "pjrt_core/c_api/entry.h"
#include "pjrt_core/c_api/extensions/extensions.h"
#include "pjrt_core/runtime/buffer/foreign_queue.h"
#include "pjrt_core/runtime/buffer/host_layout.h"
#include "pjrt_core/runtime/buffer/live_buffers.h"

namespace onexpu::c_api {
namespace {

absl::Status DeviceOrdinal(OnexpuDeviceOrdinalArgs& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.device, "device"));
  ONEXPU_ASSIGN_OR_RETURN(args.ordinal, RootDeviceOrdinal(*args.device->device));
  return absl::OkStatus();
}

absl::Status MakeQueue(OnexpuNewQueueArgs& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.device, "device"));
  ONEXPU_ASSIGN_OR_RETURN(args.queue, NewQueue(*args.device->device));
  return absl::OkStatus();
}

absl::Status ShareBuffer(OnexpuShareBufferArgs& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.client, "client"));
  ONEXPU_RETURN_IF_ERROR(RequireArray(args, args.dimensions, args.rank, "dimensions"));
  ONEXPU_ASSIGN_OR_RETURN(ArrayShape shape,
                          ToShape(args.element_type, args.dimensions, args.rank, nullptr));
  ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> live,
                          RequireLiveBuffer(args.device_address, shape.num_bytes()));
  const ArrayShape& lies = live->shape();
  if (!IsSameLayout(lies, ArrayShape::RowMajor(lies.element_type, lies.dimensions))) {
    return absl::InvalidArgumentError(
        "onexpu: only row-major arrays can be shared, and this one has another layout; copy it "
        "into "
        "the default layout");
  }
  if (args.is_written) {
    // A reference from outside makes the contents unknown; the alias is what keeps the memory.
    ONEXPU_RETURN_IF_ERROR(live->AcquireExternalReference());
    ONEXPU_RETURN_IF_ERROR(live->ReleaseExternalReference());
  }
  ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> alias, live->Alias(shape));
  args.buffer = new PJRT_Buffer(args.client, std::move(alias));
  return absl::OkStatus();
}

absl::Status ViewMemory(OnexpuViewMemoryArgs& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.client, "client"));
  ONEXPU_RETURN_IF_ERROR(RequireArray(args, args.dimensions, args.rank, "dimensions"));
  if (args.on_delete == nullptr) return absl::InvalidArgumentError("onexpu: on_delete is null");
  ONEXPU_ASSIGN_OR_RETURN(ArrayShape shape,
                          ToShape(args.element_type, args.dimensions, args.rank, nullptr));
  ONEXPU_ASSIGN_OR_RETURN(MemorySpace * memory, ToMemorySpace(nullptr, args.device));
  ForeignWork work{.queue = args.queue};
  if (args.events != nullptr) work.events = absl::MakeConstSpan(args.events, args.num_events);
  ONEXPU_ASSIGN_OR_RETURN(
      std::shared_ptr<Buffer> view,
      Buffer::View(
          args.memory, shape, memory,
          [on_delete = args.on_delete, user = args.user] { on_delete(user); }, work));
  args.buffer = new PJRT_Buffer(args.client, std::move(view));
  return absl::OkStatus();
}

absl::Status OrderQueue(OnexpuOrderQueueArgs& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.buffer, "buffer"));
  ONEXPU_RETURN_IF_ERROR(Require(args, args.queue, "queue"));
  return OrderQueueAfter(*args.buffer->buffer, args.queue);
}

absl::Status OfferSharedBuffer(OnexpuOfferSharedBufferArgs& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.buffer, "buffer"));
  args.slot = OfferedBuffers::Get().Offer(args.buffer->buffer);
  return absl::OkStatus();
}

}  // namespace

PJRT_Extension_Base* SyclSharingExtension(PJRT_Extension_Base* next) {
  static OnexpuSyclSharingExtension extension = {
      {sizeof(OnexpuSyclSharingExtension),
       static_cast<PJRT_Extension_Type>(ONEXPU_SYCL_SHARING_EXTENSION_TYPE), next},
      ONEXPU_SYCL_SHARING_EXTENSION_VERSION,
      Entry<DeviceOrdinal>::Call,
      Entry<MakeQueue>::Call,
      DeleteQueue,
      Entry<ShareBuffer>::Call,
      Entry<ViewMemory>::Call,
      Entry<OrderQueue>::Call,
      Entry<OfferSharedBuffer>::Call,
  };
  return &extension.base;
}

}  // namespace onexpu::c_api
