#include "pjrt_core/c_api/unsupported.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "pjrt_core/c_api/entry.h"

namespace onexpu::c_api {
namespace {

// UNIMPLEMENTED with the function's name; whatever the arguments are, nothing of them is read.
template <typename Args>
PJRT_Error* Unsupported(Args*) {
  return ToError(absl::UnimplementedError(
      absl::StrCat("onexpu: ", FunctionName<Args>(), " is not supported")));
}

}  // namespace

// XLA's client of the C API (pjrt_c_api_client.cc), which jaxlib and TensorFlow use, aborts the
// process on an error of some entries. None of those may be bound here, unless the client can reach
// it only through an entry whose error it returns to its caller.
void BindUnsupported(PJRT_Api* api) {
  // Streams of chunks belong to host send and receive callbacks, which
  // PJRT_LoadedExecutable_Execute rejects: JAX and TensorFlow use FFI calls instead. No stream
  // exists that could be passed.
  api->PJRT_CopyToDeviceStream_Destroy = Unsupported;
  api->PJRT_CopyToDeviceStream_AddChunk = Unsupported;
  api->PJRT_CopyToDeviceStream_TotalBytes = Unsupported;
  api->PJRT_CopyToDeviceStream_GranuleSize = Unsupported;
  api->PJRT_CopyToDeviceStream_CurrentBytes = Unsupported;

  // Registering a caller's host memory with the device: transfers stage through pinned memory of
  // our own.
  api->PJRT_Client_DmaMap = Unsupported;
  api->PJRT_Client_DmaUnmap = Unsupported;

  // Buffers whose memory is chosen after they exist. onexpu_launch's result aliases serve the same
  // purpose.
  api->PJRT_Client_CreateAliasBuffer = Unsupported;
  api->PJRT_Client_FulfillAliasBuffer = Unsupported;
  api->PJRT_Buffer_DonateWithControlDependency = Unsupported;

  // Failing an execution that has been enqueued, from outside.
  api->PJRT_Device_PoisonExecution = Unsupported;

  // Filling a buffer in pieces. JAX and TensorFlow send whole arrays through
  // PJRT_Client_BufferFromHostBuffer. Without the first of these, no transfer manager exists.
  api->PJRT_Client_CreateBuffersForAsyncHostToDevice = Unsupported;
  api->PJRT_AsyncHostToDeviceTransferManager_Destroy = Unsupported;
  api->PJRT_AsyncHostToDeviceTransferManager_TransferData = Unsupported;
  api->PJRT_AsyncHostToDeviceTransferManager_TransferLiteral = Unsupported;
  api->PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer = Unsupported;
  api->PJRT_AsyncHostToDeviceTransferManager_Device = Unsupported;
  api->PJRT_AsyncHostToDeviceTransferManager_BufferCount = Unsupported;
  api->PJRT_AsyncHostToDeviceTransferManager_BufferSize = Unsupported;
  api->PJRT_AsyncHostToDeviceTransferManager_SetBufferError = Unsupported;
  api->PJRT_AsyncHostToDeviceTransferManager_AddMetadata = Unsupported;
}

}  // namespace onexpu::c_api
