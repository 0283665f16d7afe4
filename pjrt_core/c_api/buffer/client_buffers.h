// The functions of PJRT_Client that make buffers.
#ifndef PJRT_CORE_C_API_BUFFER_CLIENT_BUFFERS_H_
#define PJRT_CORE_C_API_BUFFER_CLIENT_BUFFERS_H_

#include "xla/pjrt/c/pjrt_c_api.h"

namespace onexpu::c_api {

void BindClientBuffers(PJRT_Api* api);

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_BUFFER_CLIENT_BUFFERS_H_
