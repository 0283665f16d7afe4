// onexpu_sycl_sharing: memory and order shared with other SYCL code in the process, plain C.
//
// Found on PJRT_Api.extension_start by its type, like onexpu_launch (launch.h), whose conventions
// apply here. It is for code with its own queue: dpctl, DLPack's oneAPI devices. A `queue` is the
// address of a sycl::queue of the libsycl that the core links, an event is the address of a
// sycl::event. The caller keeps ownership.
#ifndef PJRT_CORE_C_API_EXTENSIONS_SYCL_SHARING_H_
#define PJRT_CORE_C_API_EXTENSIONS_SYCL_SHARING_H_

#include <stddef.h>
#include <stdint.h>

#include "xla/pjrt/c/pjrt_c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

// "OY": outside the range that openxla numbers.
#define ONEXPU_SYCL_SHARING_EXTENSION_TYPE 0x4F59
#define ONEXPU_SYCL_SHARING_EXTENSION_VERSION 1

// The place of the device, or of the one that it is a part of, among sycl::device::get_devices():
// DLPack's device_id.
typedef struct OnexpuDeviceOrdinalArgs {
  size_t struct_size;
  PJRT_Device* device;
  int64_t ordinal;  // out
} OnexpuDeviceOrdinalArgs;
typedef PJRT_Error* OnexpuDeviceOrdinalFn(OnexpuDeviceOrdinalArgs* args);

// A new in-order queue on the device and its SYCL context. Not one that the core itself uses: what
// others queue may wait for locks of theirs. The caller's, until delete_queue.
typedef struct OnexpuNewQueueArgs {
  size_t struct_size;
  PJRT_Device* device;
  void* queue;  // out
} OnexpuNewQueueArgs;
typedef PJRT_Error* OnexpuNewQueueFn(OnexpuNewQueueArgs* args);
typedef void OnexpuDeleteQueueFn(void* queue);

// A new PJRT_Buffer for the client `client` over the memory of the live buffer that starts at
// `device_address` (as UnsafePointer gave it) and has as many bytes as this shape: row-major,
// shared ownership, same definition. NOT_FOUND if there is none. With `is_written` the core
// remembers nothing about the contents.
typedef struct OnexpuShareBufferArgs {
  size_t struct_size;
  PJRT_Client* client;
  const void* device_address;
  PJRT_Buffer_Type element_type;
  const int64_t* dimensions;
  size_t rank;
  bool is_written;
  PJRT_Buffer* buffer;  // out
} OnexpuShareBufferArgs;
typedef PJRT_Error* OnexpuShareBufferFn(OnexpuShareBufferArgs* args);

// PJRT_Client_CreateViewOfDeviceBuffer for memory that other SYCL code works on. The contents are
// made by `events`, in order on the device; when that is null, by what `queue` has been given so
// far, which is waited for on the host. With a null queue they are there. INVALID_ARGUMENT naming
// both contexts when the queue is of another one. on_delete is not called after an error.
typedef struct OnexpuViewMemoryArgs {
  size_t struct_size;
  PJRT_Client* client;
  PJRT_Device* device;
  void* memory;
  PJRT_Buffer_Type element_type;
  const int64_t* dimensions;
  size_t rank;
  void* queue;
  void* const* events;
  size_t num_events;
  void (*on_delete)(void* user);
  void* user;
  PJRT_Buffer* buffer;  // out
} OnexpuViewMemoryArgs;
typedef PJRT_Error* OnexpuViewMemoryFn(OnexpuViewMemoryArgs* args);

// What `queue` is given from now on comes after the work that makes `buffer`'s contents. Returns
// when that work has been submitted. The buffer's error, if it is one; INVALID_ARGUMENT naming both
// contexts when the queue is of another one.
typedef struct OnexpuOrderQueueArgs {
  size_t struct_size;
  PJRT_Buffer* buffer;
  void* queue;
} OnexpuOrderQueueArgs;
typedef PJRT_Error* OnexpuOrderQueueFn(OnexpuOrderQueueArgs* args);

// Keeps `buffer`'s memory for import_buffer of the launch extension, which wants its slot.
typedef struct OnexpuOfferSharedBufferArgs {
  size_t struct_size;
  PJRT_Buffer* buffer;
  int64_t slot;  // out
} OnexpuOfferSharedBufferArgs;
typedef PJRT_Error* OnexpuOfferSharedBufferFn(OnexpuOfferSharedBufferArgs* args);

typedef struct OnexpuSyclSharingExtension {
  PJRT_Extension_Base base;  // type = ONEXPU_SYCL_SHARING_EXTENSION_TYPE
  uint32_t version;  // ONEXPU_SYCL_SHARING_EXTENSION_VERSION; functions are only ever appended
  OnexpuDeviceOrdinalFn* device_ordinal;
  OnexpuNewQueueFn* new_queue;
  OnexpuDeleteQueueFn* delete_queue;
  OnexpuShareBufferFn* share_buffer;
  OnexpuViewMemoryFn* view_memory;
  OnexpuOrderQueueFn* order_queue;
  OnexpuOfferSharedBufferFn* offer_buffer;
} OnexpuSyclSharingExtension;

#ifdef __cplusplus
}
#endif

#endif  // PJRT_CORE_C_API_EXTENSIONS_SYCL_SHARING_H_
