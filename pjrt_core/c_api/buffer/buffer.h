// PJRT_Buffer: one holder of a device array.
//
// Owned by the caller until PJRT_Buffer_Destroy; immutable except for state that the core's Buffer
// guards itself, so any thread may use it.
#ifndef PJRT_CORE_C_API_BUFFER_BUFFER_H_
#define PJRT_CORE_C_API_BUFFER_BUFFER_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "pjrt_core/runtime/buffer/buffer.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace onexpu::c_api {

// What a program said of a result whose sizes it computed.
struct DynamicShape {
  Dimensions bounds;
  std::vector<size_t> dynamic_dimensions;  // ascending
};

}  // namespace onexpu::c_api

struct PJRT_Buffer {
  static void BindApi(PJRT_Api* api);

  PJRT_Buffer(PJRT_Client* client, std::shared_ptr<onexpu::Buffer> buffer);

  PJRT_Client* client;
  PJRT_Memory* memory;
  std::shared_ptr<onexpu::Buffer> buffer;                            // of the real sizes
  std::unique_ptr<const onexpu::c_api::DynamicShape> dynamic_shape;  // null: it is static
};

namespace onexpu::c_api {

// The functions that move a buffer's contents (buffer_transfers.cc).
void BindBufferTransfers(PJRT_Api* api);

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_BUFFER_BUFFER_H_
